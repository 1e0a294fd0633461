// SPDX-License-Identifier: BSD-3-Clause
// Checks and packs kernel launches, to be queued once or run many times.
#ifndef SIM_LAUNCH_H
#define SIM_LAUNCH_H

#include "sim/code/module.h"
#include "sim/engine/stream.h"

struct launch_request {
    unsigned grid[3];
    unsigned block[3];
    unsigned dynamic_shared;
    bool cooperative;
    void **parameters;
    void **extra;
};

// Applies one attribute to the request. `done` may receive an event to record after the kernel.
// Returns INVALID_VALUE or NOT_SUPPORTED.
CUresult launch_apply_attribute(const CUlaunchAttribute *attribute, struct launch_request *request,
                                CUevent *done);

// Prepares the operation, which holds the function and its own copy of the parameters. *parameters
// (may be NULL) points to that copy, laid out as ptx_function_info says.
CUresult launch_prepare(struct function *function, const struct launch_request *request,
                        struct operation **out, char **parameters);

// Launches in STREAM as cuLaunchKernelEx does.
CUresult launch_configured(const CUlaunchConfig *config, CUfunction function, CUstream stream,
                           void **parameters, void **extra);

// The functions by which kernels of the calling thread set conditions of their graph. NULL: the
// kernels belong to no graph.
struct launch_conditions {
    void *opaque;
    void (*set_condition)(void *opaque, uint64_t handle, unsigned value);
};
void launch_set_conditions(const struct launch_conditions *graph);

#endif
