// SPDX-License-Identifier: BSD-3-Clause
// Frames of the control protocol: a header of 8 bytes and the body of a message.
//
//     0       4      6      8
//     +-------+------+------+-------- - - -
//     | size  | type | zero | body (size bytes)
//     +-------+------+------+-------- - - -
//
// Between client and box, frames follow each other on a stream (control_stream.h). Between rgpud
// and a worker, each frame is a packet of a SOCK_SEQPACKET socket, which can carry descriptors. The
// messages are declared in proto/control.spec.
#ifndef RGPU_COMMON_CONTROL_H
#define RGPU_COMMON_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "control_messages.h"

enum {
    CONTROL_HEADER_BYTES = 8,
    CONTROL_PACKET_MAX = 64 * 1024, // maximum frame between rgpud and a worker
    CONTROL_OPEN_MAX = 32 * 1024,   // maximum body of a message that newer releases may extend
};

struct control_header {
    uint32_t size; // bytes of the body
    uint16_t type;
};

// Parses a header. Returns -EBADMSG if the type is unknown or the body longer than the type allows,
// so that a peer cannot cause large allocations.
int control_parse_header(const uint8_t *bytes, struct control_header *out)
    __attribute__((warn_unused_result));

// Encodes a frame. Returns its length, or -EMSGSIZE if a field exceeds its limit or the frame does
// not fit in SIZE bytes.
int control_encode(enum control_message_type type, const void *message, void *frame, size_t size)
    __attribute__((warn_unused_result));

// A received frame. Zero it before the first use, and free it with control_frame_free(). Pointers
// in decoded messages point into it and are valid until the next receive.
struct control_frame {
    struct control_header header;
    uint8_t *body;
    size_t capacity;
};

void control_frame_free(struct control_frame *frame);
// Allocates memory for a body of SIZE bytes. Returns 0 or -ENOMEM.
int control_frame_room(struct control_frame *frame, size_t size)
    __attribute__((warn_unused_result));

// Decodes a frame of type TYPE. Returns -EPROTO if it has another type, -EBADMSG if it is
// malformed.
int control_decode(const struct control_frame *frame, enum control_message_type type, void *message)
    __attribute__((warn_unused_result));

// Send and receive one message with at most one descriptor (-1: none) on a packet socket. The
// caller owns a received descriptor. Receiving returns -EAGAIN if a non-blocking socket has no
// message, and -ECONNRESET if the peer has closed.
int control_send_packet(int fd, enum control_message_type type, const void *message, int passed_fd)
    __attribute__((warn_unused_result));
int control_receive_packet(int fd, struct control_frame *frame, int *passed_fd)
    __attribute__((warn_unused_result));
// As above, with COUNT descriptors. *COUNT is the size of FDS, and on return the number received.
int control_send_packet_with(int fd, enum control_message_type type, const void *message,
                             const int *fds, size_t count) __attribute__((warn_unused_result));
int control_receive_packet_with(int fd, struct control_frame *frame, int *fds, size_t *count)
    __attribute__((warn_unused_result));

// Default directory of the sockets on which workers wait for clients of this host: see
// client_sockets in rgpud.conf and RGPU_CLIENT_SOCKETS.
#define CONTROL_CLIENT_SOCKETS "/run/rgpu-clients"
// Name of the offer of a worker whose token proves connections that continue lost ones (RESUME).
#define CONTROL_RESUME_OFFER "resume"

// First bytes of a token that names exported memory.
#define CONTROL_EXPORT_MAGIC "rgpushr1"

// Reads the kernel's boot id, which is the same in all containers of a host. Returns 0, or -errno
// and zeros.
int control_boot_id(uint8_t out[CONTROL_BOOT_ID_BYTES]);

#endif
