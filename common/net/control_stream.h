// SPDX-License-Identifier: BSD-3-Clause
// Control frames on the stream between client and box, with or without TLS.
#ifndef RGPU_COMMON_CONTROL_STREAM_H
#define RGPU_COMMON_CONTROL_STREAM_H

#include "common/base/clock.h"
#include "common/net/control.h"
#include "common/security/tls.h"

struct control_stream {
    int fd;
    struct tls *tls; // NULL: no TLS
};

// Send or receive a whole frame until DEADLINE_MS (clock_ms()), on blocking or non-blocking
// sockets. Return 0, -ETIMEDOUT, -ECONNRESET (the peer has closed), -EBADMSG, -EPROTO (TLS detected
// modified data), or -errno. Receiving reads no byte beyond the frame or its TLS record, so that
// the descriptor can then be passed on.
int control_send(const struct control_stream *stream, enum control_message_type type,
                 const void *message, int64_t deadline_ms) __attribute__((warn_unused_result));
int control_receive(const struct control_stream *stream, struct control_frame *frame,
                    int64_t deadline_ms) __attribute__((warn_unused_result));

// Receives a frame and decodes it as TYPE, whose messages must contain no pointers.
int control_expect(const struct control_stream *stream, enum control_message_type type,
                   void *message, int64_t deadline_ms) __attribute__((warn_unused_result));

// Complete tls_handshake() or tls_end() on a non-blocking socket. Return 0, -ETIMEDOUT, or the
// error.
int control_secure(const struct control_stream *stream, int64_t deadline_ms)
    __attribute__((warn_unused_result));
int control_end_tls(struct control_stream *stream, int64_t deadline_ms)
    __attribute__((warn_unused_result));

#endif
