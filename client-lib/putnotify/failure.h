// SPDX-License-Identifier: BSD-3-Clause
// Error messages: one sentence for each thread.
#ifndef RGPU_TEAM_FAILURE_H
#define RGPU_TEAM_FAILURE_H

#include "proto/cuda_abi.h"
#include "client-lib/putnotify/rgpu.h"

#define RGPU_PUBLIC __attribute__((visibility("default")))

// Returns RESULT.
__attribute__((format(printf, 2, 3))) enum rgpu_result failure(enum rgpu_result result,
                                                               const char *format, ...);
enum rgpu_result failure_of_driver(CUresult result, const char *call);

// Converts the result of a driver call to one of this library.
#define DRIVER(call) failure_of_driver((call), #call)

#endif
