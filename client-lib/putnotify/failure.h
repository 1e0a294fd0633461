// SPDX-License-Identifier: BSD-3-Clause
// Error messages: the last one of each thread, which rgpu_error_text returns.
#ifndef RGPU_TEAM_FAILURE_H
#define RGPU_TEAM_FAILURE_H

#include "proto/cuda_abi.h"
#include "client-lib/putnotify/rgpu.h"

#define RGPU_PUBLIC __attribute__((visibility("default")))

// Returns RESULT, and stores the message for this thread.
__attribute__((format(printf, 2, 3))) enum rgpu_result failure(enum rgpu_result result,
                                                               const char *format, ...);
// Converts a result of the driver. For an error it stores a message with the function's name, which
// is the beginning of CALL.
enum rgpu_result failure_of_driver(CUresult result, const char *call);

// Makes a driver call and converts its result.
#define DRIVER(call) failure_of_driver((call), #call)

#endif
