// SPDX-License-Identifier: BSD-3-Clause
// Modules (device code that is loaded into one context) and their functions. A function has a
// reference to its module.
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "sim/engine/context.h"
#include "sim/code/jit.h"

struct module {
    struct sim_object object;
    struct context *context;
    struct ptx_module *code;
    size_t function_count;
    CUfunction *functions; // handles, in the order of the functions in the text
    size_t variable_count;
    uint64_t *variables;  // device addresses
    uint64_t code_memory; // device address that accounts for the code's size; 0: none
};

struct old_launch;
struct function {
    struct sim_object object;
    struct module *module; // counted reference
    struct ptx_function *code;
    const struct ptx_function_info *info;
    atomic_int max_dynamic_shared;
    atomic_int carveout;
    atomic_int cache_config;
    atomic_int non_portable_cluster;
    atomic_int cluster_policy;
    struct old_launch *old_launch; // state of cuFuncSetBlockShape and related calls; NULL: not used
    atomic_bool loaded; // on the device. With lazy loading, a function is loaded at its first use.
};

// Loads the function onto the device.
CUresult function_load(struct function *function);
// As function_load. With lazy loading, the first launch after a module load also waits for all
// work.
CUresult function_make_ready(struct function *function);
// Loads PTX text into the context and creates the handles. *OUT is borrowed.
CUresult module_place(struct context *context, struct jit *jit, const char *text, size_t size,
                      struct module **out);
// Destroys a module that handle_get returned. Its memory is freed when the context's work is done.
CUresult module_remove(struct module *module);

// Returns address and size of a variable, or NOT_FOUND. ADDRESS or SIZE may be NULL.
CUresult module_variable(const struct module *module, const char *name, CUdeviceptr *address,
                         size_t *size);
// Returns the function's index in module->functions, or SIZE_MAX.
size_t module_find_function(const struct ptx_module *code, const char *name);

// Returns the function of a handle with a new reference; for a kernel's handle, its function in the
// current context. The caller calls function_put. Returns INVALID_HANDLE or the error of its
// context.
CUresult function_get(CUfunction handle, struct function **out);
void function_put(struct function *function);

// Get and set attributes of functions and kernels. FUNCTION may be NULL to query attributes that
// programs cannot set.
CUresult function_attribute(const struct ptx_function_info *info, const struct function *function,
                            CUfunction_attribute attribute, int *value);
CUresult function_set_attribute(struct function *function, CUfunction_attribute attribute,
                                int value);
// Returns offset and size of a parameter, or INVALID_VALUE after the last one.
CUresult function_param(const struct ptx_function_info *info, size_t index, size_t *offset,
                        size_t *size);

#endif
