// SPDX-License-Identifier: BSD-3-Clause
// Kernel launches that are checked and packed, to be queued once or to be run again and again.
#ifndef SIM_LAUNCH_H
#define SIM_LAUNCH_H

#include "sim/module.h"
#include "sim/stream.h"

struct launch_request {
    unsigned grid[3];
    unsigned block[3];
    unsigned dynamic_shared;
    bool cooperative;
    void **parameters;
    void **extra;
};

// What one attribute changes of the request; `done` may get an event to be recorded behind the kernel.
// INVALID_VALUE, NOT_SUPPORTED.
CUresult launch_apply_attribute(const CUlaunchAttribute *attribute, struct launch_request *request,
                                CUevent *done);

// The operation holds the function and its own copy of the parameters; *parameters (may be NULL) is
// that copy, laid out as ptx_function_info says.
CUresult launch_prepare(struct function *function, const struct launch_request *request,
                        struct operation **out, char **parameters);

// A launch as cuLaunchKernelEx has it, in STREAM.
CUresult launch_configured(const CUlaunchConfig *config, CUfunction function, CUstream stream,
                           void **parameters, void **extra);

// What kernels that the calling thread runs may do to the graph that they are part of: set the value
// of a condition. NULL: they are part of none.
struct launch_conditions {
    void *opaque;
    void (*set_condition)(void *opaque, uint64_t handle, unsigned value);
};
void launch_set_conditions(const struct launch_conditions *graph);

#endif
