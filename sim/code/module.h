// SPDX-License-Identifier: BSD-3-Clause
// Implements modules (device code loaded into one context) and their functions. A function keeps
// its module alive, so a launch only needs to hold the function.
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "sim/engine/context.h"
#include "sim/code/jit.h"

struct module {
    struct sim_object object;
    struct context *context;
    struct ptx_module *code;
    size_t function_count;
    CUfunction *functions; // handles, in the order of the text
    size_t variable_count;
    uint64_t *variables;  // addresses
    uint64_t code_memory; // address of the memory that the code takes; 0: none
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
    struct old_launch *old_launch; // NULL: launched by cuLaunchKernel only
    atomic_bool loaded; // on the device; a lazily loading driver loads a function at first use
};

// Loads the function onto the device.
CUresult function_load(struct function *function);
// Loads the function and prepares its launch. A lazily loading driver also waits for all work
// before the first launch after a module load.
CUresult function_make_ready(struct function *function);
// Loads PTX text into the context and publishes module and functions. *out is borrowed.
CUresult module_place(struct context *context, struct jit *jit, const char *text, size_t size,
                      struct module **out);
// Removes a module that handle_get returned. Its memory is freed when the context's work is done.
CUresult module_remove(struct module *module);

// Returns address and size of a variable, or NOT_FOUND. One of the outputs may be NULL.
CUresult module_variable(const struct module *module, const char *name, CUdeviceptr *address,
                         size_t *size);
// Returns the function's index in module->functions, or SIZE_MAX.
size_t module_find_function(const struct ptx_module *code, const char *name);

// Looks up a function; a kernel's handle means its function in the current context. The caller puts
// it. Returns INVALID_HANDLE, or the status of its context.
CUresult function_get(CUfunction handle, struct function **out);
void function_put(struct function *function);

// Get and set attributes, also of kernels. `function` may be NULL for attributes that programs
// cannot set.
CUresult function_attribute(const struct ptx_function_info *info, const struct function *function,
                            CUfunction_attribute attribute, int *value);
CUresult function_set_attribute(struct function *function, CUfunction_attribute attribute,
                                int value);
// Returns offset and size of a parameter, or INVALID_VALUE after the last one.
CUresult function_param(const struct ptx_function_info *info, size_t index, size_t *offset,
                        size_t *size);

#endif
