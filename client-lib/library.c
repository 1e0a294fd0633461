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

// Under lock, since names are read under it.
static void retire_kernels(struct object *library)
{
    struct object *kernel = library->module.functions;
    library->module.functions = NULL;
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
    struct object *twin = object->module.twins;
    struct kept_image *image = object->module.image;
    retire_kernels(object);
    for (struct object *t = twin; t; t = t->next)
        retire_kernels(t);
    object->module.twins = NULL;
    object->module.image = NULL;
    pthread_mutex_unlock(&lock);
    while (twin) {
        struct object *next = twin->next;
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
    while (kernel && (!kernel->function.name || strcmp(kernel->function.name, name) != 0))
        kernel = kernel->function.sibling;
    return kernel;
}

// Enters a kernel that the box has made; it stays there until its library goes. Where another thread
// has entered it meanwhile, that one is given, and ours has no name.
static CUresult enter_kernel(CUlibrary handle, CUkernel *made, const char *name)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct object *library = object_find(HANDLE_LIBRARY, handle);
    struct object *kernel = object_find(HANDLE_KERNEL, *made);
    if (!library || !kernel) {
        pthread_mutex_unlock(&lock);
        return CUDA_ERROR_INVALID_HANDLE; // the library went away meanwhile
    }
    struct object *known = find_kernel(library, name);
    kernel->session = library->session;
    kernel->function.owner = library->handle;
    kernel->function.sibling = library->module.functions;
    library->module.functions = kernel;
    if (known)
        *made = (CUkernel)(uintptr_t)known->handle;
    else if (!(kernel->function.name = strdup(name)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&lock);
    return result;
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
    CUkernel made;
    CUresult result = owner ? visit_session(owner->session, &visit) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = remote_cuLibraryGetKernel(pKernel ? &made : NULL, library, name);
    leave_session(&visit);
    if (result == CUDA_SUCCESS)
        result = enter_kernel(library, &made, name);
    if (result == CUDA_SUCCESS)
        *pKernel = made;
    return result;
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

// Under lock.
static struct object *find_function(struct object *kernel, uint64_t context)
{
    struct object *function = kernel->function.functions;
    while (function && (function->context != context || !function->function.name))
        function = function->function.sibling;
    return function;
}

// As enter_kernel, for a kernel's function in one context.
static CUresult enter_function(CUkernel handle, uint64_t context, CUfunction *made)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct object *kernel = object_find(HANDLE_KERNEL, handle);
    struct object *function = object_find(HANDLE_FUNCTION, *made);
    if (!kernel || !function) {
        pthread_mutex_unlock(&lock);
        return CUDA_ERROR_INVALID_HANDLE; // the library or the context went away meanwhile
    }
    struct object *known = find_function(kernel, context);
    function->function.owner = kernel->handle;
    function->function.sibling = kernel->function.functions;
    kernel->function.functions = function;
    if (known)
        *made = (CUfunction)(uintptr_t)known->handle;
    else if (!kernel->function.name || !(function->function.name = strdup(kernel->function.name)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pFunc)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct object *object = object_find(HANDLE_KERNEL, kernel);
    struct object *function = object ? find_function(object, context->handle) : NULL;
    if (function)
        *pFunc = (CUfunction)(uintptr_t)function->handle;
    pthread_mutex_unlock(&lock);
    if (function || !object)
        return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;

    CUfunction made;
    result = remote_cuKernelGetFunction(&made, kernel);
    if (result == CUDA_SUCCESS)
        result = enter_function(kernel, context->handle, &made);
    if (result == CUDA_SUCCESS)
        *pFunc = made;
    return result;
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
