// SPDX-License-Identifier: BSD-3-Clause
// Modules (device code loaded into one context) and their functions. A function keeps its module
// alive, so that a launch needs to hold the function only.
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "sim/context.h"
#include "sim/jit.h"

struct module {
    struct sim_object object;
    struct context *context;
    struct ptx_module *code;
    size_t function_count;
    CUfunction *functions; // handles, in the order of the text
    size_t variable_count;
    uint64_t *variables; // addresses
};

struct old_launch;
struct function {
    struct sim_object object;
    struct module *module; // counted
    struct ptx_function *code;
    const struct ptx_function_info *info;
    atomic_int max_dynamic_shared;
    atomic_int carveout;
    atomic_int cache_config;
    atomic_int non_portable_cluster;
    atomic_int cluster_policy;
    struct old_launch *old_launch; // NULL: it is launched as today
    atomic_bool loaded; // on the device, which a driver that loads late sees to with the first use
};

// Sees to it that the function is on the device.
CUresult function_load(struct function *function);
// That, and that it may be launched: a driver that loads late waits for all work with
// the first launch behind the loading of a module, too.
CUresult function_make_ready(struct function *function);
// Places PTX text in the context and publishes module and functions; *out is borrowed.
CUresult module_place(struct context *context, struct jit *jit, const char *text, size_t size,
                      struct module **out);
// Ends a module that `handle_get` gave: its memory is freed once the context's work is done.
CUresult module_remove(struct module *module);

// Address and size of a variable: NOT_FOUND. Either output may be NULL, not both.
CUresult module_variable(const struct module *module, const char *name, CUdeviceptr *address,
                         size_t *size);
// Index among module->functions: SIZE_MAX.
size_t module_find_function(const struct ptx_module *code, const char *name);

// A function by handle; a kernel's handle means its function in the current context. To be put.
// INVALID_HANDLE; the status of its context.
CUresult function_get(CUfunction handle, struct function **out);
void function_put(struct function *function);

// Attributes, also of kernels: `function` may be NULL for those that are not set by programs.
CUresult function_attribute(const struct ptx_function_info *info, const struct function *function,
                            CUfunction_attribute attribute, int *value);
CUresult function_set_attribute(struct function *function, CUfunction_attribute attribute,
                                int value);
// Offset and size of a parameter: INVALID_VALUE behind the last one.
CUresult function_param(const struct ptx_function_info *info, size_t index, size_t *offset,
                        size_t *size);

#endif
