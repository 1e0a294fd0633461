// SPDX-License-Identifier: BSD-3-Clause
// Checks and prepares kernel launches. A prepared launch can run many times.
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

// Applies one launch attribute to the request. Sets *DONE if the attribute is an event to record
// after the kernel. Returns INVALID_VALUE or NOT_SUPPORTED.
CUresult launch_apply_attribute(const CUlaunchAttribute *attribute, struct launch_request *request,
                                CUevent *done);

// Creates the operation of a launch. It has a reference to the function and a copy of the
// parameters. If PARAMETERS is not NULL, sets it to that copy, with the offsets of
// ptx_function_info.
CUresult launch_prepare(struct function *function, const struct launch_request *request,
                        struct operation **out, char **parameters);

// Implements cuLaunchKernelEx with stream STREAM.
CUresult launch_configured(const CUlaunchConfig *config, CUfunction function, CUstream stream,
                           void **parameters, void **extra);

// Receives calls of cudaGraphSetConditional from kernels that run on the calling thread. GRAPH is
// NULL if these kernels belong to no graph.
struct launch_conditions {
    void *opaque;
    void (*set_condition)(void *opaque, uint64_t handle, unsigned value);
};
void launch_set_conditions(const struct launch_conditions *graph);

#endif
