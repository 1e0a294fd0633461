// SPDX-License-Identifier: BSD-3-Clause
// One thread executes all linking.
#ifndef RGPU_WORKER_LINKER_THREAD_H
#define RGPU_WORKER_LINKER_THREAD_H

#include "worker_driver.h"

// Run a function in that thread with CONTEXT current. linker_run() waits and returns its result.
CUresult linker_run(CUcontext context, void (*run)(void *argument), void *argument);
CUresult linker_post(CUcontext context, void (*run)(void *argument), void *argument);

#endif
