// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "sim/code/module.h"

static CUresult module_get(CUmodule handle, struct module **out)
{
    SIM_TRY(sim_check_ready());
    struct module *module = handle_get(OBJECT_MODULE, handle);
    SIM_RETURN_IF(!module, CUDA_ERROR_INVALID_HANDLE);
    CUresult result = context_status(module->context);
    if (result) {
        object_put(&module->object);
        return result;
    }
    *out = module;
    return CUDA_SUCCESS;
}

static CUresult load_image(struct context *context, struct jit *jit, const void *image,
                           size_t length, CUmodule *out)
{
    char *text;
    size_t size;
    struct module *module;
    SIM_TRY(jit_extract(jit, image, length, &text, &size));
    CUresult result = module_place(context, jit, text, size, &module);
    free(text);
    if (!result)
        *out = object_handle(&module->object);
    return result;
}

static CUresult module_api_load(CUmodule *out, const void *image, size_t length, unsigned count,
                                CUjit_option *options, void **values)
{
    struct context *context;
    struct jit jit;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || !image, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(jit_begin(&jit, count, options, values));
    context_flush_print(context);
    CUresult result = load_image(context, &jit, image, length, out);
    jit_finish(&jit, result);
    return result;
}

SIM_API(cuModuleLoadDataEx, CUmodule *out, const void *image, unsigned int count,
        CUjit_option *options, void **values)
{
    return module_api_load(out, image, JIT_UNBOUNDED, count, options, values);
}

SIM_API(cuModuleLoad, CUmodule *out, const char *path)
{
    struct context *context;
    char *text;
    size_t size;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || !path, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(jit_read_file(path, &text, &size));
    CUresult result = module_api_load(out, text, size, 0, NULL, NULL);
    free(text);
    return result;
}

SIM_API(cuModuleUnload, CUmodule handle)
{
    SCOPED_OBJECT struct module *module = NULL;
    SIM_TRY(module_get(handle, &module));
    return module_remove(module);
}

SIM_API(cuModuleGetLoadingMode, CUmoduleLoadingMode *mode)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!mode, CUDA_ERROR_INVALID_VALUE);
    const char *wanted = getenv("CUDA_MODULE_LOADING");
    *mode = wanted && !strcmp(wanted, "EAGER") ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

SIM_API(cuModuleGetFunction, CUfunction *out, CUmodule handle, const char *name)
{
    SCOPED_OBJECT struct module *module = NULL;
    SIM_TRY(module_get(handle, &module));
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (out && name) {
        size_t index = module_find_function(module->code, name);
        result = index == SIZE_MAX ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
        if (!result)
            *out = module->functions[index];
    }
    return result;
}

SIM_API(cuModuleGetFunctionCount, unsigned int *count, CUmodule handle)
{
    SCOPED_OBJECT struct module *module = NULL;
    SIM_TRY(module_get(handle, &module));
    if (count)
        *count = (unsigned)module->function_count;
    return count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuModuleEnumerateFunctions, CUfunction *functions, unsigned int count, CUmodule handle)
{
    SCOPED_OBJECT struct module *module = NULL;
    SIM_TRY(module_get(handle, &module));
    for (size_t i = 0; functions && i < count && i < module->function_count; i++)
        functions[i] = module->functions[i];
    return functions ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuModuleGetGlobal_v2, CUdeviceptr *address, size_t *size, CUmodule handle, const char *name)
{
    SCOPED_OBJECT struct module *module = NULL;
    SIM_TRY(module_get(handle, &module));
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (name && (address || size))
        result = module_variable(module, name, address, size);
    return result;
}
