// SPDX-License-Identifier: BSD-3-Clause
// What went wrong, in a sentence of the thread that it happened to.
#ifndef RGPU_TEAM_FAILURE_H
#define RGPU_TEAM_FAILURE_H

#include "proto/cuda_abi.h"
#include "team-lib/rgpu.h"

#define RGPU_PUBLIC __attribute__((visibility("default")))

// Returns RESULT.
__attribute__((format(printf, 2, 3))) enum rgpu_result failure(enum rgpu_result result,
                                                               const char *format, ...);
enum rgpu_result failure_of_driver(CUresult result, const char *call);

// The result of a call of the driver as ours.
#define DRIVER(call) failure_of_driver((call), #call)

#endif
