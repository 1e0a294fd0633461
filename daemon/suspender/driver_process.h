// SPDX-License-Identifier: BSD-3-Clause
// Runs a child process as a worker's user, which loads the driver and makes the checkpoint calls.
// The driver (580) opens pipes of the worker through /proc/PID/fd, and the kernel allows this to
// the worker's user. So the calls need no capability, and a worker that takes such a process over
// gains no more than it has.
#ifndef RGPU_SUSPENDER_DRIVER_PROCESS_H
#define RGPU_SUSPENDER_DRIVER_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

#include "proto/cuda_abi.h"
#include "daemon/suspender/gpu_pairs.h"

enum driver_call { DRIVER_STATE, DRIVER_LOCK, DRIVER_CHECKPOINT, DRIVER_RESTORE, DRIVER_UNLOCK };
enum { DRIVER_NAME_MAX = 64, DRIVER_PROBLEM_MAX = 256 };

struct driver_answer {
    CUresult result;
    CUprocessState state;       // of DRIVER_STATE
    char name[DRIVER_NAME_MAX]; // of the result, as cuGetErrorName() has it
};

// Starts a process that becomes USER, with a group of the same number, and drops all capabilities;
// with USER 0 it stays as this process is. It loads the library DRIVER meanwhile, and ends when the
// descriptor is closed. Returns the descriptor of a socket to it, or -errno.
int driver_process_start(uid_t user, const char *driver) __attribute__((warn_unused_result));
// Waits until the driver is initialized. Returns 0, or -1 with the reason in TEXT.
int driver_process_await(int process, char text[DRIVER_PROBLEM_MAX])
    __attribute__((warn_unused_result));
// Makes one call for process PID and waits for it. TIMEOUT_MS is for DRIVER_LOCK; PAIRS, which may
// be NULL, for DRIVER_RESTORE. The result is CUDA_ERROR_OPERATING_SYSTEM if the process has ended.
struct driver_answer driver_process_call(int process, enum driver_call call, int pid,
                                         unsigned timeout_ms, const struct gpu_pairs *pairs);

#endif
