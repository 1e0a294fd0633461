// SPDX-License-Identifier: BSD-3-Clause
// The system calls that a worker may make.
#ifndef RGPU_WORKER_CONFINE_CALLS_H
#define RGPU_WORKER_CONFINE_CALLS_H

// Refuses all but the listed ones; the supervisor is asked about the others, over the socket for refusals, where
// the kernel can do that.
int confine_calls(void) __attribute__((warn_unused_result));

#endif
