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

// Receives one message of at most SIZE bytes. *count is the room in FDS on entry and the number
// received on return; they are close-on-exec and the caller's. Gives the number of bytes (0 at the
// end), -EMSGSIZE where the message or its descriptors did not fit (what came is closed), -errno.
ssize_t fdpass_receive(int socket, void *data, size_t size, int *fds, size_t *count)
    __attribute__((warn_unused_result));

#endif
