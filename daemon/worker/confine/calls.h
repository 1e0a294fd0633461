// SPDX-License-Identifier: BSD-3-Clause
// Restricts the system calls of a worker.
#ifndef RGPU_WORKER_CONFINE_CALLS_H
#define RGPU_WORKER_CONFINE_CALLS_H

// Refuses all system calls but the listed ones. If the kernel supports it, the supervisor decides
// on the others, over the socket for refusals.
int confine_calls(void) __attribute__((warn_unused_result));

#endif
