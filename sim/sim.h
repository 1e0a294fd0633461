// SPDX-License-Identifier: BSD-3-Clause
// Macros for all files of the software GPU: exported API functions, and the checks that they make
// first.
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

#define SIM_EXPORT __attribute__((visibility("default")))

// SIM_API(cuName, parameters) { body }: defines an exported API function.
#define SIM_API(name, ...) \
    SIM_EXPORT CUresult name(__VA_ARGS__); \
    SIM_EXPORT CUresult name(__VA_ARGS__)

// Defines an exported API function that is one call. The variant for per-thread default streams of
// a function with a stream parameter is generated (weak_calls.c).
#define SIM_CALL(name, parameters, call) \
    SIM_EXPORT CUresult name parameters; \
    SIM_EXPORT CUresult name parameters \
    { \
        return call; \
    }

// Defines a synchronous API function without stream parameter, and its _ptds variant. In CALL,
// `stream` is the default stream of the variant.
#define SIM_DEFAULT_STREAM_API(name, parameters, call) \
    SIM_EXPORT CUresult name parameters; \
    SIM_EXPORT CUresult name##_ptds parameters; \
    SIM_EXPORT CUresult name parameters \
    { \
        CUstream stream = CU_STREAM_LEGACY; \
        return call; \
    } \
    SIM_EXPORT CUresult name##_ptds parameters \
    { \
        CUstream stream = CU_STREAM_PER_THREAD; \
        return call; \
    }

#define SIM_DRIVER_VERSION 13000

// Returns NOT_INITIALIZED before cuInit and in a forked child.
CUresult sim_check_started(void);
// As sim_check_started. Also returns NOT_PERMITTED in a stream callback, and waits while a
// checkpoint locks the process.
CUresult sim_check_ready(void);

// Sets whether the calling thread runs a host function or stream callback.
void sim_set_in_callback(bool inside);

#define SIM_RETURN_IF(condition, error) \
    do { \
        if (condition) \
            return error; \
    } while (0)

// Returns from the calling function if the call fails.
#define SIM_TRY(call) \
    do { \
        CUresult try_result = (call); \
        if (try_result != CUDA_SUCCESS) \
            return try_result; \
    } while (0)

#endif
