// Modules and their functions.
#include <stdlib.h>
#include <string.h>

#include "client-lib/exports.h"
#include "client-lib/image.h"
#include "client-lib/jit.h"
#include "client-lib/library.h"
#include "client-lib/memory.h"
#include "client-lib/object.h"
#include "client-lib/process.h"
#include "client-lib/session.h"
#include "client-lib/thread.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // lists of functions

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                            CUjit_option *options, void **optionValues)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!module || !image)
        return CUDA_ERROR_INVALID_VALUE;
    struct jit *jit = malloc(sizeof(*jit));
    if (!jit)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint32_t number = 0;
    result = jit_read(jit, numOptions, options, optionValues);
    if (result == CUDA_SUCCESS)
        result = image_send_program(image, &number);
    if (result == CUDA_SUCCESS) {
        result = remote_module_load(module, number, jit->options, jit_options_size(jit),
                                    jit->outputs, sizeof(jit->outputs), &jit->outputs_size);
        jit_answer(jit);
        remote_image_free(number);
    }
    free(jit);
    return result;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return cuModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
}

CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
    void *data;
    size_t size;
    CUresult result = image_read_file(fname, &data, &size);
    if (result == CUDA_SUCCESS) {
        result = cuModuleLoadDataEx(module, data, 0, NULL, NULL);
        free(data);
    }
    return result;
}

static void retire_functions(struct object *module)
{
    pthread_mutex_lock(&lock);
    struct object *function = module->module.functions;
    module->module.functions = NULL;
    pthread_mutex_unlock(&lock);
    while (function) {
        struct object *next = function->function.sibling;
        object_retire(HANDLE_FUNCTION, function->handle);
        function = next;
    }
}

CUresult cuModuleUnload(CUmodule hmod)
{
    struct object *module = object_find(HANDLE_MODULE, hmod);
    if (module)
        retire_functions(module);
    return remote_cuModuleUnload(hmod);
}

// Under lock.
static struct object *find_function(struct object *module, const char *name)
{
    struct object *function = module->module.functions;
    while (function && (!function->function.name || strcmp(function->function.name, name) != 0))
        function = function->function.sibling;
    return function;
}

// Enters a function that the box has made; it stays there until its module goes. Where another thread
// has entered it meanwhile, that one is given, and ours has no name.
static CUresult enter_function(CUmodule hmod, CUfunction *made, const char *name)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct object *module = object_find(HANDLE_MODULE, hmod);
    struct object *function = object_find(HANDLE_FUNCTION, *made);
    if (!module || !function) {
        pthread_mutex_unlock(&lock);
        return CUDA_ERROR_INVALID_HANDLE; // the module went away meanwhile
    }
    struct object *known = find_function(module, name);
    function->context = module->context; // whatever context is current
    function->function.owner = module->handle;
    function->function.sibling = module->module.functions;
    module->module.functions = function;
    if (known)
        *made = (CUfunction)(uintptr_t)known->handle;
    else if (!(function->function.name = strdup(name)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    struct object *module = object_find(HANDLE_MODULE, hmod);
    if (hfunc && module && name) {
        pthread_mutex_lock(&lock);
        struct object *known = find_function(module, name);
        if (known)
            *hfunc = (CUfunction)(uintptr_t)known->handle;
        pthread_mutex_unlock(&lock);
        if (known)
            return CUDA_SUCCESS;
    }
    CUfunction made;
    CUresult result = remote_cuModuleGetFunction(hfunc ? &made : NULL, hmod, name);
    if (result == CUDA_SUCCESS)
        result = enter_function(hmod, &made, name);
    if (result == CUDA_SUCCESS)
        *hfunc = made;
    return result;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    return remote_module_function_count(mod, count);
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
    char *names = malloc(WIRE_INLINE_MAX);
    unsigned int done = 0;
    CUresult result = !functions && numFunctions ? CUDA_ERROR_INVALID_VALUE
                      : names                    ? CUDA_SUCCESS
                                                 : CUDA_ERROR_OUT_OF_MEMORY;
    while (result == CUDA_SUCCESS && done < numFunctions) {
        size_t used = 0;
        result = remote_module_functions(mod, done, names, WIRE_INLINE_MAX, &used);
        if (result != CUDA_SUCCESS || !used || names[used - 1])
            break;
        for (size_t at = 0; at < used && done < numFunctions && result == CUDA_SUCCESS;
             at += strlen(names + at) + 1)
            result = cuModuleGetFunction(&functions[done++], mod, names + at);
    }
    free(names);
    return result;
}

// Globals may be copied to and from as if they had been allocated.
static CUresult enter_global(CUdeviceptr address, size_t size)
{
    struct object *context;
    struct allocation known;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS || memory_find(address, &known))
        return result;
    struct allocation global = {.base = address, .size = size, .session = context->session,
                                .context = context->handle, .device = context->ctx.device};
    return memory_add(&global) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult give_global(CUresult result, CUdeviceptr address, size_t size, CUdeviceptr *dptr,
                            size_t *bytes)
{
    if (result == CUDA_SUCCESS && size)
        result = enter_global(address, size);
    if (result == CUDA_SUCCESS && dptr)
        *dptr = address;
    if (result == CUDA_SUCCESS && bytes)
        *bytes = size;
    return result;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
    CUdeviceptr address = 0;
    size_t size = 0;
    CUresult result = remote_cuModuleGetGlobal_v2(&address, &size, hmod, name);
    return give_global(result, address, size, dptr, bytes);
}

CUresult cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    CUdeviceptr address = 0;
    size_t size = 0;
    CUresult result = remote_cuLibraryGetGlobal(&address, &size, library, name);
    return give_global(result, address, size, dptr, bytes);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}
