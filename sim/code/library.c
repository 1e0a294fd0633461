// SPDX-License-Identifier: BSD-3-Clause
// A library's PTX is compiled once when it is loaded, to detect errors and to list its kernels, and
// again for each context, because each context has its own variables.
#include "sim/code/library.h"

#include <stdlib.h>

#include "sim/engine/memory.h"
#include "sim/code/module.h"
#include "sim/engine/primary_context.h"

struct loaded {
    uint64_t context_id;
    CUmodule module; // stale after the context ended
};

struct library {
    struct sim_object object;
    char *text;
    size_t size;
    struct ptx_module *code; // for names and attributes only; never launched
    CUkernel *kernels;
    size_t kernel_count;

    pthread_mutex_t lock; // guards the fields below, also while a module is being loaded
    struct loaded *loaded;
    size_t loaded_count;
};

struct kernel {
    struct sim_object object;
    struct library *library; // counted
    size_t index;
    const struct ptx_function_info *info;
};

static void library_destroy(struct sim_object *object)
{
    struct library *library = (struct library *)object;
    ptx_module_free(&library->code);
    pthread_mutex_destroy(&library->lock);
    free(library->text);
    free(library->kernels);
    free(library->loaded);
    free(library);
}

static void kernel_destroy(struct sim_object *object)
{
    struct kernel *kernel = (struct kernel *)object;
    object_put(&kernel->library->object);
    free(kernel);
}

static CUresult library_get(CUlibrary handle, struct library **out)
{
    SIM_TRY(sim_check_ready());
    struct library *library = handle_get(OBJECT_LIBRARY, handle);
    SIM_RETURN_IF(!library, CUDA_ERROR_INVALID_HANDLE);
    *out = library;
    return CUDA_SUCCESS;
}

static CUresult kernel_get(CUkernel handle, struct kernel **out)
{
    SIM_TRY(sim_check_ready());
    struct kernel *kernel = handle_get(OBJECT_KERNEL, handle);
    SIM_RETURN_IF(!kernel, CUDA_ERROR_INVALID_HANDLE);
    *out = kernel;
    return CUDA_SUCCESS;
}

static CUresult library_add_kernel(struct library *library, size_t index)
{
    struct kernel *kernel = calloc(1, sizeof(*kernel));
    SIM_RETURN_IF(!kernel, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&kernel->object, OBJECT_KERNEL, NULL, kernel_destroy);
    object_hold(&library->object);
    kernel->library = library;
    kernel->index = index;
    kernel->info = ptx_function_info(ptx_module_function(library->code, index));
    CUresult result = handle_publish(&kernel->object);
    if (result)
        object_put(&kernel->object);
    else
        library->kernels[library->kernel_count++] = object_handle(&kernel->object);
    return result;
}

static void revoke_kernels(struct library *library)
{
    for (size_t i = 0; i < library->kernel_count; i++) {
        struct sim_object *kernel = handle_get(OBJECT_KERNEL, library->kernels[i]);
        if (!kernel)
            continue;
        if (handle_revoke(kernel))
            object_put(kernel);
        object_put(kernel);
    }
}

static CUresult add_kernels(struct library *library)
{
    size_t count = ptx_module_function_count(library->code);
    library->kernels = calloc(count ? count : 1, sizeof(CUkernel));
    SIM_RETURN_IF(!library->kernels, CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = 0; i < count; i++)
        SIM_TRY(library_add_kernel(library, i));
    return CUDA_SUCCESS;
}

static CUresult library_create(struct jit *jit, const void *image, size_t length, CUlibrary *out)
{
    struct library *library = calloc(1, sizeof(*library));
    SIM_RETURN_IF(!library, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&library->object, OBJECT_LIBRARY, NULL, library_destroy);
    pthread_mutex_init(&library->lock, NULL);
    CUresult result = jit_extract(jit, image, length, &library->text, &library->size);
    if (!result)
        result = jit_compile(jit, library->text, library->size, &library->code);
    if (!result)
        result = add_kernels(library);
    if (!result)
        result = handle_publish(&library->object);
    if (!result) {
        *out = object_handle(&library->object);
        return CUDA_SUCCESS;
    }
    revoke_kernels(library);
    object_put(&library->object);
    return result;
}

static CUresult load(CUlibrary *out, const void *image, size_t length, CUjit_option *options,
                     void **values, unsigned count, CUlibraryOption *library_options,
                     unsigned library_count)
{
    struct jit jit;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || !image || (library_count && !library_options), CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < library_count; i++)
        SIM_RETURN_IF((unsigned)library_options[i] >= CU_LIBRARY_NUM_OPTIONS,
                      CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(jit_begin(&jit, count, options, values));
    CUresult result = library_create(&jit, image, length, out);
    jit_finish(&jit, result);
    return result;
}

SIM_API(cuLibraryLoadData, CUlibrary *out, const void *image, CUjit_option *options, void **values,
        unsigned int count, CUlibraryOption *library_options, void **library_values,
        unsigned int library_count)
{
    return load(out, image, JIT_UNBOUNDED, options, values, count, library_options, library_count);
}

SIM_API(cuLibraryLoadFromFile, CUlibrary *out, const char *path, CUjit_option *options,
        void **values, unsigned int count, CUlibraryOption *library_options, void **library_values,
        unsigned int library_count)
{
    char *text;
    size_t size;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(jit_read_file(path, &text, &size));
    CUresult result = load(out, text, size, options, values, count, library_options, library_count);
    free(text);
    return result;
}

SIM_API(cuLibraryUnload, CUlibrary handle)
{
    struct library *library;
    SIM_TRY(library_get(handle, &library));
    if (!handle_revoke(&library->object)) {
        object_put(&library->object);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    revoke_kernels(library);
    pthread_mutex_lock(&library->lock);
    for (size_t i = 0; i < library->loaded_count; i++) {
        struct module *module = handle_peek(OBJECT_MODULE, library->loaded[i].module);
        if (!module)
            continue;
        module_remove(module);
        object_put(&module->object);
    }
    library->loaded_count = 0;
    pthread_mutex_unlock(&library->lock);
    object_put(&library->object);
    object_put(&library->object);
    return CUDA_SUCCESS;
}

// Loads the library into the context. Called under the library's lock.
static CUresult load_into(struct library *library, struct context *context, struct module **out)
{
    struct jit jit;
    struct module *module;
    struct loaded *loaded =
        realloc(library->loaded, (library->loaded_count + 1) * sizeof(struct loaded));
    SIM_RETURN_IF(!loaded, CUDA_ERROR_OUT_OF_MEMORY);
    library->loaded = loaded;
    SIM_TRY(jit_begin(&jit, 0, NULL, NULL));
    CUresult result = module_place(context, &jit, library->text, library->size, &module);
    jit_finish(&jit, result);
    if (result)
        return result;
    loaded[library->loaded_count].context_id = atomic_load(&context->id);
    loaded[library->loaded_count++].module = object_handle(&module->object);
    object_hold(&module->object);
    *out = module;
    return CUDA_SUCCESS;
}

// Returns the library's module in the current context. The caller puts it.
static CUresult current_module(struct library *library, struct module **out)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    uint64_t id = atomic_load(&context->id);
    struct module *module = NULL;
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&library->lock);
    for (size_t i = 0; i < library->loaded_count && !module; i++)
        if (library->loaded[i].context_id == id)
            module = handle_peek(OBJECT_MODULE, library->loaded[i].module);
    if (!module)
        result = load_into(library, context, &module);
    pthread_mutex_unlock(&library->lock);
    if (!result)
        *out = module;
    return result;
}

CUresult library_kernel_function(CUkernel handle, CUfunction *out)
{
    SCOPED_OBJECT struct kernel *kernel = NULL;
    struct module *module;
    SIM_TRY(kernel_get(handle, &kernel));
    CUresult result = current_module(kernel->library, &module);
    if (!result) {
        *out = module->functions[kernel->index];
        object_put(&module->object);
    }
    return result;
}

SIM_API(cuKernelGetFunction, CUfunction *out, CUkernel kernel)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    return library_kernel_function(kernel, out);
}

SIM_API(cuKernelGetLibrary, CUlibrary *out, CUkernel handle)
{
    SCOPED_OBJECT struct kernel *kernel = NULL;
    SIM_TRY(kernel_get(handle, &kernel));
    if (out)
        *out = object_handle(&kernel->library->object);
    return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuKernelGetName, const char **name, CUkernel handle)
{
    SCOPED_OBJECT struct kernel *kernel = NULL;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!handle, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(kernel_get(handle, &kernel));
    if (name)
        *name = kernel->info->name;
    return name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuKernelGetParamInfo, CUkernel handle, size_t index, size_t *offset, size_t *size)
{
    SCOPED_OBJECT struct kernel *kernel = NULL;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!handle, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(kernel_get(handle, &kernel));
    return function_param(kernel->info, index, offset, size);
}

// Finds the function of a kernel on a device. If the device's context is not current, only fixed
// attributes can be read.
static CUresult kernel_function(CUkernel handle, CUdevice index, struct function **out)
{
    struct device *device;
    struct context *context;
    SIM_TRY(device_get(index, &device));
    *out = NULL;
    if (context_require(&context) || context->device != device)
        return CUDA_SUCCESS;
    return function_get((CUfunction)handle, out);
}

SIM_API(cuKernelGetAttribute, int *value, CUfunction_attribute attribute, CUkernel handle,
        CUdevice device)
{
    SCOPED_OBJECT struct kernel *kernel = NULL;
    struct function *function;
    SIM_TRY(kernel_get(handle, &kernel));
    CUresult result = value ? kernel_function(handle, device, &function) : CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        result = function_attribute(kernel->info, function, attribute, value);
        if (function)
            function_put(function);
    }
    return result;
}

SIM_API(cuKernelSetAttribute, CUfunction_attribute attribute, int value, CUkernel handle,
        CUdevice device)
{
    struct kernel *kernel;
    struct function *function;
    SIM_TRY(kernel_get(handle, &kernel));
    object_put(&kernel->object);
    SIM_TRY(kernel_function(handle, device, &function));
    SIM_RETURN_IF(!function, CUDA_ERROR_INVALID_CONTEXT);
    CUresult result = function_set_attribute(function, attribute, value);
    function_put(function);
    return result;
}

SIM_API(cuKernelSetCacheConfig, CUkernel handle, CUfunc_cache config, CUdevice device)
{
    struct kernel *kernel;
    struct device *found;
    SIM_TRY(kernel_get(handle, &kernel));
    object_put(&kernel->object);
    SIM_TRY(device_get(device, &found));
    SIM_RETURN_IF((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

SIM_API(cuLibraryGetKernel, CUkernel *out, CUlibrary handle, const char *name)
{
    SCOPED_OBJECT struct library *library = NULL;
    SIM_TRY(library_get(handle, &library));
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (out && name) {
        size_t index = module_find_function(library->code, name);
        result = index == SIZE_MAX ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
        if (!result)
            *out = library->kernels[index];
    }
    return result;
}

SIM_API(cuLibraryGetKernelCount, unsigned int *count, CUlibrary handle)
{
    SCOPED_OBJECT struct library *library = NULL;
    SIM_TRY(library_get(handle, &library));
    if (count)
        *count = (unsigned)library->kernel_count;
    return count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuLibraryEnumerateKernels, CUkernel *kernels, unsigned int count, CUlibrary handle)
{
    SCOPED_OBJECT struct library *library = NULL;
    SIM_TRY(library_get(handle, &library));
    for (size_t i = 0; kernels && i < count && i < library->kernel_count; i++)
        kernels[i] = library->kernels[i];
    return kernels ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuLibraryGetModule, CUmodule *out, CUlibrary handle)
{
    SCOPED_OBJECT struct library *library = NULL;
    struct module *module;
    SIM_TRY(library_get(handle, &library));
    CUresult result = out ? current_module(library, &module) : CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        *out = object_handle(&module->object);
        object_put(&module->object);
    }
    return result;
}

SIM_API(cuLibraryGetGlobal, CUdeviceptr *address, size_t *size, CUlibrary handle, const char *name)
{
    SCOPED_OBJECT struct library *library = NULL;
    struct module *module;
    SIM_TRY(library_get(handle, &library));
    CUresult result = name && (address || size) ? current_module(library, &module)
                                                : CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        result = module_variable(module, name, address, size);
        object_put(&module->object);
    }
    return result;
}

// Makes the first device's primary context current if the caller has no context. It stays retained.
static CUresult enter_first_context(bool *entered)
{
    struct device *device;
    struct context *context;
    CUcontext primary;
    *entered = false;
    if (context_stack_top())
        return CUDA_SUCCESS;
    SIM_TRY(device_get(0, &device));
    SIM_TRY(primary_context_handle(device, &primary));
    SIM_TRY(context_get(primary, &context));
    CUresult result = context_stack_push(context);
    object_put(&context->object);
    *entered = !result;
    return result;
}

// Finds managed variables only.
SIM_API(cuLibraryGetManaged, CUdeviceptr *address, size_t *size, CUlibrary handle, const char *name)
{
    struct memory_range range;
    CUdeviceptr found = 0;
    SIM_RETURN_IF(!name || (!address && !size), CUDA_ERROR_INVALID_VALUE);
    bool entered;
    SIM_TRY(enter_first_context(&entered));
    CUresult result = cuLibraryGetGlobal(&found, size, handle, name);
    if (entered)
        SIM_TRY(context_stack_pop(NULL));
    SIM_TRY(result);
    SIM_RETURN_IF(!memory_lookup(found, &range) || !memory_is_managed(&range),
                  CUDA_ERROR_NOT_FOUND);
    if (address)
        *address = found;
    return CUDA_SUCCESS;
}
