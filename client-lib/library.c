// Libraries and kernels, which belong to no context.
#include "client-lib/library.h"

#include <stdlib.h>
#include <string.h>

#include "client-lib/exports.h"
#include "client-lib/image.h"
#include "client-lib/jit.h"
#include "client-lib/session.h"
#include "client-lib/thread.h"
#include "common/driver/image.h"

// What is needed to load the library into another session later.
struct kept_image {
    void *data;
    size_t size;
    struct wire_option options[JIT_OPTIONS_MAX];
    uint32_t option_count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // lists of kernels, functions and twins

static struct kept_image *keep_image(const struct image *image, const struct jit *jit)
{
    struct kept_image *kept = malloc(sizeof(*kept));
    size_t size = image->size + (image->kind == IMAGE_PTX);
    void *data = malloc(size ? size : 1);
    if (!kept || !data) {
        free(kept);
        free(data);
        return NULL;
    }
    memcpy(data, image->data, size);
    kept->data = data;
    kept->size = size;
    memcpy(kept->options, jit->options, sizeof(kept->options));
    kept->option_count = jit->count;
    return kept;
}

// A library may be loaded before any context is current; it then goes to the first box.
struct visit {
    bool pushed;
};

static CUresult visit_session(struct session *session, struct visit *visit)
{
    struct object *current;
    visit->pushed = false;
    if (thread_context_object(&current) == CUDA_SUCCESS && (!session || current->session == session))
        return CUDA_SUCCESS;
    CUcontext context;
    CUdevice device = session ? session->first_device : 0;
    CUresult result = cuDevicePrimaryCtxRetain(&context, device);
    if (result != CUDA_SUCCESS)
        return result;
    result = cuCtxPushCurrent_v2(context);
    visit->pushed = result == CUDA_SUCCESS;
    return result;
}

static void leave_session(struct visit *visit)
{
    CUdevice device;
    if (visit->pushed && cuCtxGetDevice(&device) == CUDA_SUCCESS) {
        cuCtxPopCurrent_v2(NULL);
        cuDevicePrimaryCtxRelease_v2(device);
    }
}

static CUresult load(CUlibrary *library, const void *data, size_t size, struct jit *jit)
{
    uint32_t number;
    CUresult result = image_send(data, size, &number);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_library_load(library, number, jit->options, jit_options_size(jit),
                                 jit->outputs, sizeof(jit->outputs), &jit->outputs_size);
    remote_image_free(number);
    return result;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                           void **jitOptionsValues, unsigned int numJitOptions,
                           CUlibraryOption *libraryOptions, void **libraryOptionValues,
                           unsigned int numLibraryOptions)
{
    struct image image;
    struct visit visit;
    if (!library || !code)
        return CUDA_ERROR_INVALID_VALUE;
    if (image_locate(code, &image) != 0)
        return CUDA_ERROR_INVALID_IMAGE;
    struct jit *jit = malloc(sizeof(*jit));
    if (!jit)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = jit_read(jit, numJitOptions, jitOptions, jitOptionsValues);
    if (result == CUDA_SUCCESS)
        result = jit_add_library_options(jit, numLibraryOptions, libraryOptions,
                                         libraryOptionValues);
    if (result == CUDA_SUCCESS)
        result = visit_session(NULL, &visit);
    if (result == CUDA_SUCCESS) {
        result = load(library, image.data, image.size + (image.kind == IMAGE_PTX), jit);
        jit_answer(jit);
        leave_session(&visit);
    }
    if (result == CUDA_SUCCESS && session_count > 1)
        object_find(HANDLE_LIBRARY, *library)->module.image = keep_image(&image, jit);
    free(jit);
    return result;
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
                               void **jitOptionsValues, unsigned int numJitOptions,
                               CUlibraryOption *libraryOptions, void **libraryOptionValues,
                               unsigned int numLibraryOptions)
{
    void *data;
    size_t size;
    CUresult result = image_read_file(fileName, &data, &size);
    if (result == CUDA_SUCCESS) {
        result = cuLibraryLoadData(library, data, jitOptions, jitOptionsValues, numJitOptions,
                                   libraryOptions, libraryOptionValues, numLibraryOptions);
        free(data);
    }
    return result;
}

static void retire_kernel(struct object *kernel)
{
    struct object *function = kernel->function.functions;
    while (function) {
        struct object *next = function->function.sibling;
        object_retire(HANDLE_FUNCTION, function->handle);
        function = next;
    }
    object_retire(HANDLE_KERNEL, kernel->handle);
}

static void retire_kernels(struct object *kernel)
{
    while (kernel) {
        struct object *next = kernel->function.sibling;
        retire_kernel(kernel);
        kernel = next;
    }
}

CUresult cuLibraryUnload(CUlibrary library)
{
    struct object *object = object_find(HANDLE_LIBRARY, library);
    if (!object)
        return remote_cuLibraryUnload(library);
    pthread_mutex_lock(&lock);
    struct object *kernels = object->module.functions, *twin = object->module.twins;
    struct kept_image *image = object->module.image;
    object->module.functions = object->module.twins = NULL;
    object->module.image = NULL;
    pthread_mutex_unlock(&lock);
    retire_kernels(kernels);
    while (twin) {
        struct object *next = twin->next;
        retire_kernels(twin->module.functions);
        remote_cuLibraryUnload((CUlibrary)(uintptr_t)twin->handle);
        twin = next;
    }
    if (image)
        free(image->data);
    free(image);
    return remote_cuLibraryUnload(library);
}

static struct object *find_kernel(struct object *library, const char *name)
{
    struct object *kernel = library->module.functions;
    while (kernel && strcmp(kernel->function.name, name) != 0)
        kernel = kernel->function.sibling;
    return kernel;
}

CUresult cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    struct object *owner = object_find(HANDLE_LIBRARY, library);
    if (pKernel && owner && name) {
        pthread_mutex_lock(&lock);
        struct object *known = find_kernel(owner, name);
        if (known)
            *pKernel = (CUkernel)(uintptr_t)known->handle;
        pthread_mutex_unlock(&lock);
        if (known)
            return CUDA_SUCCESS;
    }
    struct visit visit = {0};
    CUresult result = owner ? visit_session(owner->session, &visit) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = remote_cuLibraryGetKernel(pKernel, library, name);
    leave_session(&visit);
    if (result != CUDA_SUCCESS)
        return result;
    struct object *kernel = object_find(HANDLE_KERNEL, *pKernel);
    kernel->function.name = strdup(name);
    if (!kernel->function.name) {
        object_retire(HANDLE_KERNEL, kernel->handle);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&lock);
    kernel->session = owner->session;
    kernel->function.owner = owner->handle;
    kernel->function.sibling = owner->module.functions;
    owner->module.functions = kernel;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static struct object *known_twin(struct object *first, struct session *session)
{
    while (first && first->session != session)
        first = first->next;
    return first;
}

static struct object *twin_library(struct object *library, struct session *session,
                                   CUresult *result)
{
    pthread_mutex_lock(&lock);
    struct object *twin = known_twin(library->module.twins, session);
    struct kept_image *image = library->module.image;
    pthread_mutex_unlock(&lock);
    if (twin)
        return twin;
    struct jit *jit = image ? malloc(sizeof(*jit)) : NULL;
    if (!jit) {
        *result = CUDA_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    CUlibrary made;
    memcpy(jit->options, image->options, sizeof(jit->options));
    jit->count = image->option_count;
    *result = load(&made, image->data, image->size, jit);
    free(jit);
    if (*result != CUDA_SUCCESS)
        return NULL;
    twin = object_find(HANDLE_LIBRARY, made);
    pthread_mutex_lock(&lock);
    twin->next = library->module.twins;
    library->module.twins = twin;
    pthread_mutex_unlock(&lock);
    return twin;
}

static struct object *twin_kernel(struct object *kernel, struct session *session, CUresult *result)
{
    pthread_mutex_lock(&lock);
    struct object *twin = known_twin(kernel->function.twins, session);
    pthread_mutex_unlock(&lock);
    if (twin)
        return twin;
    struct object *owner =
        object_find(HANDLE_LIBRARY, (void *)(uintptr_t)kernel->function.owner);
    CUkernel made;
    *result = CUDA_ERROR_INVALID_HANDLE;
    struct object *library = owner ? twin_library(owner, session, result) : NULL;
    if (!library)
        return NULL;
    *result = cuLibraryGetKernel(&made, (CUlibrary)(uintptr_t)library->handle,
                                 kernel->function.name);
    if (*result != CUDA_SUCCESS)
        return NULL;
    twin = object_find(HANDLE_KERNEL, made);
    pthread_mutex_lock(&lock);
    twin->next = kernel->function.twins;
    kernel->function.twins = twin;
    pthread_mutex_unlock(&lock);
    return twin;
}

struct object *library_twin(struct object *object, struct session *session, CUresult *result)
{
    *result = CUDA_SUCCESS;
    return object->kind == HANDLE_LIBRARY ? twin_library(object, session, result)
                                          : twin_kernel(object, session, result);
}

CUresult cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    return remote_cuLibraryGetModule(pMod, library);
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    return remote_library_kernel_count(lib, count);
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
    char *names = malloc(WIRE_INLINE_MAX);
    unsigned int done = 0;
    CUresult result = !kernels && numKernels ? CUDA_ERROR_INVALID_VALUE
                      : names                ? CUDA_SUCCESS
                                             : CUDA_ERROR_OUT_OF_MEMORY;
    while (result == CUDA_SUCCESS && done < numKernels) {
        size_t used = 0;
        result = remote_library_kernels(lib, done, names, WIRE_INLINE_MAX, &used);
        if (result != CUDA_SUCCESS || !used || names[used - 1])
            break;
        for (size_t at = 0; at < used && done < numKernels && result == CUDA_SUCCESS;
             at += strlen(names + at) + 1)
            result = cuLibraryGetKernel(&kernels[done++], lib, names + at);
    }
    free(names);
    return result;
}

CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct object *object = object_find(HANDLE_KERNEL, kernel);
    if (!pFunc || !object)
        return pFunc ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;

    pthread_mutex_lock(&lock);
    struct object *function = object->function.functions;
    while (function && function->context != context->handle)
        function = function->function.sibling;
    if (function)
        *pFunc = (CUfunction)(uintptr_t)function->handle;
    pthread_mutex_unlock(&lock);
    if (function)
        return CUDA_SUCCESS;

    result = remote_cuKernelGetFunction(pFunc, kernel);
    if (result != CUDA_SUCCESS)
        return result;
    function = object_find(HANDLE_FUNCTION, *pFunc);
    function->function.name = strdup(object->function.name);
    pthread_mutex_lock(&lock);
    function->function.owner = object->handle;
    function->function.sibling = object->function.functions;
    object->function.functions = function;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    struct object *object = object_find(HANDLE_KERNEL, kernel);
    if (!pLib || !object)
        return pLib ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    *pLib = (CUlibrary)(uintptr_t)object->function.owner;
    return CUDA_SUCCESS;
}

static void unlink_functions(void *opaque, struct object *kernel)
{
    struct object **at = &kernel->function.functions;
    while (*at) {
        if ((*at)->context == *(const uint64_t *)opaque)
            *at = (*at)->function.sibling;
        else
            at = &(*at)->function.sibling;
    }
}

static void retire_function(void *opaque, struct object *function)
{
    if (function->context == *(const uint64_t *)opaque)
        object_retire(HANDLE_FUNCTION, function->handle);
}

void code_forget_context(uint64_t context)
{
    pthread_mutex_lock(&lock);
    object_each(HANDLE_KERNEL, unlink_functions, &context);
    object_each(HANDLE_FUNCTION, retire_function, &context);
    pthread_mutex_unlock(&lock);
}
