// SPDX-License-Identifier: BSD-3-Clause
// Loads PTX into a context: compiles it, allocates the variables, publishes the functions.
#include "sim/code/module.h"

#include <stdlib.h>
#include <string.h>

#include "sim/engine/memory.h"

static void function_destroy(struct sim_object *object)
{
    struct function *function = (struct function *)object;
    object_put(&function->module->object);
    free(function->old_launch);
    free(function);
}

static void module_destroy(struct sim_object *object)
{
    struct module *module = (struct module *)object;
    ptx_module_free(&module->code);
    free(module->functions);
    free(module->variables);
    free(module);
}

static CUresult add_function(struct module *module, size_t index)
{
    struct function *function = calloc(1, sizeof(*function));
    SIM_RETURN_IF(!function, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&function->object, OBJECT_FUNCTION, module->context, function_destroy);
    object_hold(&module->object);
    function->module = module;
    function->code = ptx_module_function(module->code, index);
    function->info = ptx_function_info(function->code);
    int room = DEVICE_SHARED_PER_BLOCK - (int)function->info->static_shared;
    atomic_init(&function->max_dynamic_shared, room > 0 ? room : 0);
    atomic_init(&function->carveout, CU_SHAREDMEM_CARVEOUT_DEFAULT);
    CUresult result = handle_publish(&function->object);
    if (result)
        object_put(&function->object);
    else
        module->functions[module->function_count++] = object_handle(&function->object);
    return result;
}

static void revoke_functions(struct module *module)
{
    for (size_t i = 0; i < module->function_count; i++) {
        struct sim_object *function = handle_get(OBJECT_FUNCTION, module->functions[i]);
        if (!function)
            continue;
        if (handle_revoke(function))
            object_put(function);
        object_put(function);
    }
}

static CUresult add_functions(struct module *module)
{
    size_t count = ptx_module_function_count(module->code);
    module->functions = calloc(count ? count : 1, sizeof(CUfunction));
    SIM_RETURN_IF(!module->functions, CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = 0; i < count; i++)
        SIM_TRY(add_function(module, i));
    return CUDA_SUCCESS;
}

static bool is_variable(const struct memory_range *range)
{
    return range->kind == MEMORY_VARIABLE || range->kind == MEMORY_MANAGED_VARIABLE;
}

static void free_variables(struct module *module)
{
    for (size_t i = 0; i < module->variable_count; i++)
        (void)memory_release(module->variables[i], is_variable, NULL);
    module->variable_count = 0;
    if (module->code_memory)
        (void)memory_release(module->code_memory, is_variable, NULL);
    module->code_memory = 0;
}

static CUresult take_code_memory(struct module *module, size_t text_size)
{
    size_t bytes = text_size * device_config()->code;
    return bytes ? memory_allocate(module->context, bytes, MEMORY_VARIABLE, NULL,
                                   &module->code_memory)
                 : CUDA_SUCCESS;
}

static CUresult add_variables(struct module *module)
{
    size_t count = ptx_module_global_count(module->code);
    module->variables = calloc(count ? count : 1, sizeof(uint64_t));
    SIM_RETURN_IF(!module->variables, CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = 0; i < count; i++) {
        const struct ptx_global *variable = ptx_module_global(module->code, i);
        uint64_t address;
        SIM_TRY(memory_allocate(module->context, variable->size ? variable->size : 1,
                                variable->managed ? MEMORY_MANAGED_VARIABLE : MEMORY_VARIABLE, NULL,
                                &address));
        module->variables[module->variable_count++] = address;
        SIM_RETURN_IF(ptx_module_bind(module->code, i, address), CUDA_ERROR_INVALID_IMAGE);
    }
    SIM_RETURN_IF(ptx_module_initialize(module->code), CUDA_ERROR_INVALID_IMAGE);
    return CUDA_SUCCESS;
}

CUresult module_place(struct context *context, struct jit *jit, const char *text, size_t size,
                      struct module **out)
{
    struct module *module = calloc(1, sizeof(*module));
    SIM_RETURN_IF(!module, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&module->object, OBJECT_MODULE, context, module_destroy);
    module->context = context;
    CUresult result = jit_compile(jit, text, size, &module->code);
    if (!result)
        result = context_quiesce(context);
    if (!result)
        result = take_code_memory(module, size);
    if (!result)
        result = add_variables(module);
    if (!result)
        result = add_functions(module);
    if (!result)
        result = handle_publish(&module->object);
    if (!result) {
        atomic_store(&context->settled, false);
        *out = module;
        return CUDA_SUCCESS;
    }
    revoke_functions(module);
    free_variables(module);
    object_put(&module->object);
    return result;
}

// Only the thread that revokes the handle frees the module.
CUresult module_remove(struct module *module)
{
    CUresult result = context_quiesce(module->context);
    if (!handle_revoke(&module->object))
        return CUDA_ERROR_INVALID_HANDLE;
    revoke_functions(module);
    free_variables(module);
    object_put(&module->object);
    return result;
}

// Finds a variable, even one that only its source can see, because the CUDA runtime looks up static
// ones.
static size_t find_variable(const struct module *module, const char *name)
{
    size_t hidden = SIZE_MAX;
    for (size_t i = 0; i < module->variable_count; i++) {
        const struct ptx_global *variable = ptx_module_global(module->code, i);
        if (strcmp(variable->name, name))
            continue;
        if (variable->visible)
            return i;
        hidden = i;
    }
    return hidden;
}

CUresult module_variable(const struct module *module, const char *name, CUdeviceptr *address,
                         size_t *size)
{
    size_t index = find_variable(module, name);
    SIM_RETURN_IF(index == SIZE_MAX, CUDA_ERROR_NOT_FOUND);
    if (address)
        *address = module->variables[index];
    if (size)
        *size = ptx_module_global(module->code, index)->size;
    return CUDA_SUCCESS;
}

size_t module_find_function(const struct ptx_module *code, const char *name)
{
    const struct ptx_function *found = ptx_module_find(code, name);
    for (size_t i = 0; found && i < ptx_module_function_count(code); i++)
        if (ptx_module_function(code, i) == found)
            return i;
    return SIZE_MAX;
}
