// SPDX-License-Identifier: BSD-3-Clause
#include "sim/code/module.h"

#include "sim/code/library.h"

CUresult function_get(CUfunction handle, struct function **out)
{
    SIM_TRY(sim_check_ready());
    struct function *function = handle_get(OBJECT_FUNCTION, handle);
    if (!function) {
        CUfunction resolved;
        SIM_TRY(library_kernel_function((CUkernel)handle, &resolved));
        function = handle_get(OBJECT_FUNCTION, resolved);
        SIM_RETURN_IF(!function, CUDA_ERROR_INVALID_HANDLE);
    }
    CUresult result = context_status(function->module->context);
    if (result) {
        function_put(function);
        return result;
    }
    *out = function;
    return CUDA_SUCCESS;
}

void function_put(struct function *function)
{
    object_put(&function->object);
}

static CUresult fixed_attribute(const struct ptx_function_info *info,
                                CUfunction_attribute attribute, int *value)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)info->max_threads; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)info->static_shared; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = (int)info->const_bytes; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)info->local_bytes; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)info->registers; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = (int)info->target; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 90; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = DEVICE_SHARED_PER_BLOCK - (int)info->static_shared;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = CU_SHAREDMEM_CARVEOUT_DEFAULT;
        break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX:
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult function_attribute(const struct ptx_function_info *info, const struct function *function,
                            CUfunction_attribute attribute, int *value)
{
    if (function) {
        switch ((int)attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *value = atomic_load(&function->max_dynamic_shared);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            *value = atomic_load(&function->carveout);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
            *value = atomic_load(&function->non_portable_cluster);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            *value = atomic_load(&function->cluster_policy);
            return CUDA_SUCCESS;
        }
    }
    return fixed_attribute(info, attribute, value);
}

CUresult function_set_attribute(struct function *function, CUfunction_attribute attribute,
                                int value)
{
    int most = DEVICE_SHARED_PER_BLOCK_OPTIN - (int)function->info->static_shared;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        SIM_RETURN_IF(value < 0 || value > most, CUDA_ERROR_INVALID_VALUE);
        atomic_store(&function->max_dynamic_shared, value);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        SIM_RETURN_IF(value < -1 || value > 100, CUDA_ERROR_INVALID_VALUE);
        atomic_store(&function->carveout, value);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        SIM_RETURN_IF(value != 0 && value != 1, CUDA_ERROR_INVALID_VALUE);
        atomic_store(&function->non_portable_cluster, value);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        SIM_RETURN_IF(value < 0 || value > 2, CUDA_ERROR_INVALID_VALUE);
        atomic_store(&function->cluster_policy, value);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult function_param(const struct ptx_function_info *info, size_t index, size_t *offset,
                        size_t *size)
{
    SIM_RETURN_IF(!offset || index >= info->param_count, CUDA_ERROR_INVALID_VALUE);
    *offset = info->params[index].offset;
    if (size)
        *size = info->params[index].size;
    return CUDA_SUCCESS;
}

SIM_API(cuFuncGetAttribute, int *value, CUfunction_attribute attribute, CUfunction handle)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(function_get(handle, &function));
    return value ? function_attribute(function->info, function, attribute, value)
                 : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuFuncSetAttribute, CUfunction handle, CUfunction_attribute attribute, int value)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(function_get(handle, &function));
    return function_set_attribute(function, attribute, value);
}

SIM_API(cuFuncSetCacheConfig, CUfunction handle, CUfunc_cache config)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(function_get(handle, &function));
    bool valid = (unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL;
    if (valid)
        atomic_store(&function->cache_config, (int)config);
    return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Accepted without effect, because bank sizes are fixed on this architecture.
SIM_API(cuFuncSetSharedMemConfig, CUfunction handle, CUsharedconfig config)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(function_get(handle, &function));
    return (unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuFuncGetModule, CUmodule *out, CUfunction handle)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!handle, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(function_get(handle, &function));
    if (out)
        *out = object_handle(&function->module->object);
    return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuFuncGetName, const char **name, CUfunction handle)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!handle, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(function_get(handle, &function));
    if (name)
        *name = function->info->name;
    return name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuFuncGetParamInfo, CUfunction handle, size_t index, size_t *offset, size_t *size)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(function_get(handle, &function));
    return function_param(function->info, index, offset, size);
}

SIM_API(cuFuncIsLoaded, CUfunctionLoadingState *state, CUfunction handle)
{
    struct function *function;
    SIM_TRY(function_get(handle, &function));
    bool loaded = atomic_load(&function->loaded) || !device_config()->lazy;
    function_put(function);
    SIM_RETURN_IF(!state, CUDA_ERROR_INVALID_VALUE);
    *state = loaded ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}

CUresult function_load(struct function *function)
{
    if (!device_config()->lazy || atomic_load(&function->loaded))
        return CUDA_SUCCESS;
    SIM_TRY(context_quiesce(function->module->context));
    atomic_store(&function->loaded, true);
    return CUDA_SUCCESS;
}

CUresult function_make_ready(struct function *function)
{
    struct context *context = function->module->context;
    SIM_TRY(function_load(function));
    if (!device_config()->lazy || atomic_load(&context->settled))
        return CUDA_SUCCESS;
    SIM_TRY(context_quiesce(context));
    atomic_store(&context->settled, true);
    return CUDA_SUCCESS;
}

SIM_API(cuFuncLoad, CUfunction handle)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(function_get(handle, &function));
    return function_load(function);
}
