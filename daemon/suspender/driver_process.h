// SPDX-License-Identifier: BSD-3-Clause
// A child process with a worker's user id that loads the driver and calls its checkpoint functions.
// The driver (580) opens pipes of the worker through /proc/PID/fd, which the kernel allows to the
// worker's user. Therefore these calls need no capability, and a worker that attacks such a process
// gains nothing.
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
    CUprocessState state;       // only for DRIVER_STATE
    char name[DRIVER_NAME_MAX]; // name of the result, as cuGetErrorName() returns it
};

// Starts a child that becomes USER, with a group of the same number, and drops all capabilities; 0:
// the child keeps this process's user. The child loads the library DRIVER, and ends when the
// returned socket is closed. Returns a socket or -errno.
int driver_process_start(uid_t user, const char *driver) __attribute__((warn_unused_result));
// Waits until the driver is initialized. Returns 0, or -1 and the reason in TEXT.
int driver_process_await(int process, char text[DRIVER_PROBLEM_MAX])
    __attribute__((warn_unused_result));
// Makes one call for process PID and waits for its result, which is CUDA_ERROR_OPERATING_SYSTEM if
// the child has died. TIMEOUT_MS is for DRIVER_LOCK; PAIRS, which may be NULL, for DRIVER_RESTORE.
struct driver_answer driver_process_call(int process, enum driver_call call, int pid,
                                         unsigned timeout_ms, const struct gpu_pairs *pairs);

#endif
