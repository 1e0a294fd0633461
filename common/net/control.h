// SPDX-License-Identifier: BSD-3-Clause
// Frames of the control protocol: a header of eight bytes, then a message body.
//
//      0       4      6      8
//     +-------+------+------+-------- - - -
//     | size  | type | zero | body (size bytes)
//     +-------+------+------+-------- - - -
//
// Between client and box frames follow each other on a stream (common/net/control_stream.h).
// Between rgpud and a worker each frame is one packet of a SOCK_SEQPACKET socket, so that
// descriptors travel with their message. The messages themselves are declared in
// proto/control.spec.
#ifndef RGPU_COMMON_CONTROL_H
#define RGPU_COMMON_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "control_messages.h"

enum {
    CONTROL_HEADER_BYTES = 8,
    CONTROL_PACKET_MAX = 64 * 1024, // longest frame between rgpud and a worker
    CONTROL_OPEN_MAX = 32 * 1024,   // longest body of a message that a newer peer may extend
};

struct control_header {
    uint32_t size; // of the body
    uint16_t type;
};

// -EBADMSG where the type is unknown or the body longer than that type may be, so that nothing
// is ever read or allocated on the word of a peer alone.
int control_parse_header(const uint8_t *bytes, struct control_header *out)
    __attribute__((warn_unused_result));

// Writes a whole frame; its length, or -EMSGSIZE where a field is over its limit or SIZE is short.
int control_encode(enum control_message_type type, const void *message, void *frame, size_t size)
    __attribute__((warn_unused_result));

// A received frame; zero it before first use, control_frame_free afterwards. Views in decoded
// messages point into it and last until the next receive.
struct control_frame {
    struct control_header header;
    uint8_t *body;
    size_t capacity;
};

void control_frame_free(struct control_frame *frame);
// Makes room for a body of SIZE bytes; -ENOMEM.
int control_frame_room(struct control_frame *frame, size_t size)
    __attribute__((warn_unused_result));

// Decodes the frame as TYPE: -EPROTO where it is of another type, -EBADMSG where it is malformed.
int control_decode(const struct control_frame *frame, enum control_message_type type, void *message)
    __attribute__((warn_unused_result));

// On a packet socket: one message with up to one descriptor (-1: none). Receiving gives -EAGAIN on
// a non-blocking socket without a message and -ECONNRESET at the end.
int control_send_packet(int fd, enum control_message_type type, const void *message, int passed_fd)
    __attribute__((warn_unused_result));
int control_receive_packet(int fd, struct control_frame *frame, int *passed_fd)
    __attribute__((warn_unused_result));
// The same with COUNT descriptors; on receiving *count is the room, and then how many came.
int control_send_packet_with(int fd, enum control_message_type type, const void *message,
                             const int *fds, size_t count) __attribute__((warn_unused_result));
int control_receive_packet_with(int fd, struct control_frame *frame, int *fds, size_t *count)
    __attribute__((warn_unused_result));

// The directory of a box's sockets on which workers await clients of this host, unless
// client_sockets of rgpud.conf and RGPU_CLIENT_SOCKETS set another.
#define CONTROL_CLIENT_SOCKETS "/run/rgpu-clients"

// The first bytes of a token of shared memory.
#define CONTROL_EXPORT_MAGIC "rgpushr1"

// The kernel's boot id, the same for every container of a host; zeros and -errno where unknown.
int control_boot_id(uint8_t out[CONTROL_BOOT_ID_BYTES]);

#endif
