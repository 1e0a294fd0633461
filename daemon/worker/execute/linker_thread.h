// SPDX-License-Identifier: BSD-3-Clause
// All linking in one thread. See linker_thread.c.
#ifndef RGPU_WORKER_LINKER_THREAD_H
#define RGPU_WORKER_LINKER_THREAD_H

#include "worker_driver.h"

// Runs it there with that context current: one waits for it, the other does not.
CUresult linker_run(CUcontext context, void (*run)(void *argument), void *argument);
CUresult linker_post(CUcontext context, void (*run)(void *argument), void *argument);

#endif
