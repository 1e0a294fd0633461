// SPDX-License-Identifier: BSD-3-Clause
// One message together with file descriptors over a unix socket (SCM_RIGHTS).
#ifndef RGPU_COMMON_FDPASS_H
#define RGPU_COMMON_FDPASS_H

#include <stddef.h>
#include <sys/types.h>

enum { FDPASS_MAX = 8 };

// Sends SIZE bytes and COUNT descriptors (0..FDPASS_MAX) as one message. The descriptors stay the
// caller's. 0 or -errno; never raises SIGPIPE.
int fdpass_send(int socket, const void *data, size_t size, const int *fds, size_t count)
    __attribute__((warn_unused_result));

// Receives one message of at most SIZE bytes. *count is the size of FDS on entry and the number of
// received descriptors on return; they are close-on-exec and the caller's. Returns the number of
// bytes (0 at the end), -EMSGSIZE if the message or its descriptors do not fit (then the
// descriptors are discarded), or -errno.
ssize_t fdpass_receive(int socket, void *data, size_t size, int *fds, size_t *count)
    __attribute__((warn_unused_result));

// Closes a descriptor that was received and is not wanted.
void fdpass_discard(int fd);
// Makes fdpass_discard() call CLOSE_ONE, and makes fdpass_receive() close nothing itself. It is for
// programs that serve peers which they do not trust: the close of such a peer's descriptor may
// block. Only if this process has no number left for a descriptor, the kernel closes the rest of a
// message within fdpass_receive().
void fdpass_distrust(void (*close_one)(int fd));
// Closes a socket of packets. Descriptors in its queue, which its close would wait for, are
// discarded first. Other processes that have this end of the socket receive nothing more.
void fdpass_close(int socket);

#endif
