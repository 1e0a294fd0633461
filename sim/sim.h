// SPDX-License-Identifier: BSD-3-Clause
// Defines macros that export API functions, and the check that each of them makes first. All files
// of the software GPU include it.
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

#define SIM_EXPORT __attribute__((visibility("default")))

// SIM_API(cuName, parameters) { body }: declares and starts the definition of an exported call.
#define SIM_API(name, ...) \
    SIM_EXPORT CUresult name(__VA_ARGS__); \
    SIM_EXPORT CUresult name(__VA_ARGS__)

// A call that takes a stream exists twice: in the _ptsz form the NULL stream means the calling
// thread's default stream. The parameter list must name it `stream`.
#define SIM_STREAM_API(name, parameters, call) \
    SIM_EXPORT CUresult name parameters; \
    SIM_EXPORT CUresult name##_ptsz parameters; \
    SIM_EXPORT CUresult name parameters \
    { \
        return call; \
    } \
    SIM_EXPORT CUresult name##_ptsz parameters \
    { \
        if (!stream) \
            stream = CU_STREAM_PER_THREAD; \
        return call; \
    }

// Declares a synchronous call without a stream parameter; `stream` is the default stream of its
// form.
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
// Also returns NOT_PERMITTED inside a stream callback. Waits while the process is locked for a
// checkpoint.
CUresult sim_check_ready(void);

// Records whether the calling thread runs a host function or a stream callback.
void sim_set_in_callback(bool inside);

#define SIM_RETURN_IF(condition, error) \
    do { \
        if (condition) \
            return error; \
    } while (0)

// Returns the error of a failed call to the caller.
#define SIM_TRY(call) \
    do { \
        CUresult try_result = (call); \
        if (try_result != CUDA_SUCCESS) \
            return try_result; \
    } while (0)

#endif
