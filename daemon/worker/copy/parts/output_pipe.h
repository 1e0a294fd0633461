// SPDX-License-Identifier: BSD-3-Clause
// A pipe in the place of a standard descriptor, for output of kernels that the driver writes there.
#ifndef RGPU_WORKER_OUTPUT_PIPE_H
#define RGPU_WORKER_OUTPUT_PIPE_H

// Opens a pipe. Reading from ENDS[0] does not block. Returns 0 or -errno.
int output_pipe_open(int ends[2]) __attribute__((warn_unused_result));
// Starts a thread that calls DELIVER whenever END has data, since the driver would block in the
// middle of a call once the pipe is full. END stays open until the process ends. Returns 0 or
// -errno.
int output_pipe_drain(int end, void (*deliver)(void)) __attribute__((warn_unused_result));

#endif
