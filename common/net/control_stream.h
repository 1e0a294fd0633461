// SPDX-License-Identifier: BSD-3-Clause
// Control frames on the stream between client and box: plain, or inside TLS.
#ifndef RGPU_COMMON_CONTROL_STREAM_H
#define RGPU_COMMON_CONTROL_STREAM_H

#include "common/base/clock.h"
#include "common/net/control.h"
#include "common/security/tls.h"

struct control_stream {
    int fd;
    struct tls *tls; // NULL: plain
};

// Send or receive a whole frame until DEADLINE_MS of clock_ms(), on blocking and non-blocking
// sockets. Return -ETIMEDOUT, -ECONNRESET (the peer closed), -EBADMSG, -EPROTO (the data were
// changed on their way), or -errno. Receiving takes not a byte more than the frame, or its record,
// so the descriptor can be handed on in between.
int control_send(const struct control_stream *stream, enum control_message_type type,
                 const void *message, int64_t deadline_ms) __attribute__((warn_unused_result));
int control_receive(const struct control_stream *stream, struct control_frame *frame,
                    int64_t deadline_ms) __attribute__((warn_unused_result));

// Receives one frame and decodes it as TYPE, whose messages have no views.
int control_expect(const struct control_stream *stream, enum control_message_type type,
                   void *message, int64_t deadline_ms) __attribute__((warn_unused_result));

// On a non-blocking socket: brings tls_handshake() or tls_end() to its end. -ETIMEDOUT.
int control_secure(const struct control_stream *stream, int64_t deadline_ms)
    __attribute__((warn_unused_result));
int control_end_tls(struct control_stream *stream, int64_t deadline_ms)
    __attribute__((warn_unused_result));

#endif
