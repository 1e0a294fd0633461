// SPDX-License-Identifier: BSD-3-Clause
// Messages with file descriptors over a unix socket (SCM_RIGHTS).
#ifndef RGPU_COMMON_FDPASS_H
#define RGPU_COMMON_FDPASS_H

#include <stddef.h>
#include <sys/types.h>

enum { FDPASS_MAX = 8 };

// Sends SIZE bytes and COUNT descriptors (0..FDPASS_MAX) as one message. The caller keeps the
// descriptors. Returns 0 or -errno; never raises SIGPIPE.
int fdpass_send(int socket, const void *data, size_t size, const int *fds, size_t count)
    __attribute__((warn_unused_result));

// Receives one message of at most SIZE bytes. *COUNT is the size of FDS, and on return the number
// of descriptors received, which are close-on-exec and owned by the caller. Returns the number of
// bytes, 0 if the peer has closed, -EMSGSIZE (with the descriptors closed) if the message or its
// descriptors do not fit, or -errno.
ssize_t fdpass_receive(int socket, void *data, size_t size, int *fds, size_t *count)
    __attribute__((warn_unused_result));

// Closes a received descriptor, in the way that fdpass_distrust() sets.
void fdpass_discard(int fd);
// Makes fdpass_discard() call CLOSE_ONE instead of close(), and fdpass_receive() close nothing. For
// programs with untrusted peers, because closing a descriptor of such a peer may block. Only if
// this process has no free descriptor number, the kernel closes descriptors during
// fdpass_receive().
void fdpass_distrust(void (*close_one)(int fd));
// Closes a packet socket. First discards the descriptors in its queue, whose closing could block.
// The queue is then empty also for other processes that share this end of the socket.
void fdpass_close(int socket);

#endif
