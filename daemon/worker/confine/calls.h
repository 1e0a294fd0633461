// SPDX-License-Identifier: BSD-3-Clause
// System call filter of a worker.
#ifndef RGPU_WORKER_CONFINE_CALLS_H
#define RGPU_WORKER_CONFINE_CALLS_H

// Allows only the system calls on a list. If the kernel supports it, the supervisor decides about
// others, through the socket for refusals. Returns 0 or -errno.
int confine_calls(void) __attribute__((warn_unused_result));

#endif
