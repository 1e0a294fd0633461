// SPDX-License-Identifier: BSD-3-Clause
// Libraries and kernels, which belong to no context.
#include "client-lib/cuda/objects/libraries.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/objects/code_loading.h"
#include "client-lib/cuda/objects/image_send.h"
#include "client-lib/cuda/objects/jit_options.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/box_session.h"
#include "client_calls.h"
#include "common/driver/image.h"
#include "common/base/scope.h"

// Data for loading the library into another session later.
struct kept_image {
    void *data;
    size_t size;
    struct wire_option options[JIT_OPTIONS_MAX];
    uint32_t option_count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // lists of kernels, functions and twins

static struct kept_image *keep_image(const struct image *image, const struct jit_options *jit)
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
struct library_visit {
    bool pushed;
};

static CUresult visit_session(struct box_session *session, struct library_visit *visit)
{
    struct object *current;
    visit->pushed = false;
    if (thread_context_object(&current) == CUDA_SUCCESS &&
        (!session || current->session == session))
        return CUDA_SUCCESS;
    CUcontext context;
    CUdevice device = session ? session->first_device : 0;
    CUresult result = primary_retain(device, &context);
    if (result != CUDA_SUCCESS)
        return result;
    result = thread_push_context(context);
    visit->pushed = result == CUDA_SUCCESS;
    return result;
}

static void leave_session(struct library_visit *visit)
{
    struct object *context;
    if (visit->pushed && thread_context_object(&context) == CUDA_SUCCESS) {
        CUdevice device = context->ctx.device;
        thread_pop_context(NULL);
        primary_drop(device, false);
    }
}

static CUresult libraries_load(CUlibrary *library, const void *data, size_t size,
                               struct jit_options *jit)
{
    uint32_t number;
    CUresult result = image_send(data, size, &number);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_library_load(library, number, jit->options, jit_options_size(jit), jit->outputs,
                                 sizeof(jit->outputs), &jit->outputs_size);
    remote_image_free(number);
    struct object *context;
    if (result == CUDA_SUCCESS && thread_context_object(&context) == CUDA_SUCCESS &&
        code_loads_at_once(context->session, size, OP_library_code_load))
        (void)remote_library_code_load(*library);
    return result;
}

CUresult library_load(const struct image *image, struct jit_options *jit, CUlibrary *library)
{
    struct library_visit visit;
    CUresult result = visit_session(NULL, &visit);
    if (result != CUDA_SUCCESS)
        return result;
    result = libraries_load(library, image->data, image->size + (image->kind == IMAGE_PTX), jit);
    jit_answer(jit);
    leave_session(&visit);
    if (result == CUDA_SUCCESS && session_count > 1)
        object_find(HANDLE_LIBRARY, *library)->module.image = keep_image(image, jit);
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

// The caller holds the lock, which also protects names.
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

// Ends the library's kernels here, and those of its twins. The caller frees *TWINS and *IMAGE.
static void retire_library(struct object *library, struct object **twins, struct kept_image **image)
{
    SCOPED_LOCK(&lock);
    *twins = library->module.twins;
    *image = library->module.image;
    retire_kernels(library);
    for (struct object *t = *twins; t; t = t->next)
        retire_kernels(t);
    library->module.twins = NULL;
    library->module.image = NULL;
}

static CUresult end_at_box(const struct object *object)
{
    CUlibrary library = (CUlibrary)(uintptr_t)object->handle;
    return context_part_ends_later(object->session, OP_library_unload)
               ? remote_library_unload(library)
               : remote_cuLibraryUnload(library);
}

CUresult library_unload(CUlibrary library)
{
    struct object *object = object_find(HANDLE_LIBRARY, library), *twin;
    struct kept_image *image;
    if (!object)
        return remote_cuLibraryUnload(library);
    retire_library(object, &twin, &image);
    while (twin) {
        struct object *next = twin->next;
        (void)end_at_box(twin);
        twin = next;
    }
    if (image)
        free(image->data);
    free(image);
    return end_at_box(object);
}

// The caller holds the lock.
static struct object *libraries_find_kernel(struct object *library, const char *name)
{
    struct object *kernel = library->module.functions;
    while (kernel && (!kernel->function.name || strcmp(kernel->function.name, name) != 0))
        kernel = kernel->function.sibling;
    return kernel;
}

// Enters a kernel that the box has made, until its library ends. If another thread has entered the
// same kernel meanwhile, returns that one; ours then has no name.
static CUresult enter_kernel(CUlibrary handle, CUkernel *made, const char *name)
{
    CUresult result = CUDA_SUCCESS;
    SCOPED_LOCK(&lock);
    struct object *library = object_find(HANDLE_LIBRARY, handle);
    struct object *kernel = object_find(HANDLE_KERNEL, *made);
    if (!library || !kernel)
        return CUDA_ERROR_INVALID_HANDLE; // the library has ended meanwhile
    struct object *known = libraries_find_kernel(library, name);
    kernel->session = library->session;
    kernel->function.owner = library->handle;
    kernel->function.sibling = library->module.functions;
    library->module.functions = kernel;
    if (known)
        *made = (CUkernel)(uintptr_t)known->handle;
    else if (!(kernel->function.name = strdup(name)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return result;
}

static bool know_kernel(struct object *library, const char *name, CUkernel *kernel)
{
    SCOPED_LOCK(&lock);
    struct object *known = libraries_find_kernel(library, name);
    if (known)
        *kernel = (CUkernel)(uintptr_t)known->handle;
    return known != NULL;
}

CUresult library_kernel(CUlibrary library, const char *name, CUkernel *kernel)
{
    struct object *owner = object_find(HANDLE_LIBRARY, library);
    if (kernel && owner && name && know_kernel(owner, name, kernel))
        return CUDA_SUCCESS;
    struct library_visit visit = {0};
    CUkernel made;
    CUresult result = owner ? visit_session(owner->session, &visit) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = remote_cuLibraryGetKernel(kernel ? &made : NULL, library, name);
    leave_session(&visit);
    if (result == CUDA_SUCCESS)
        result = enter_kernel(library, &made, name);
    if (result == CUDA_SUCCESS)
        *kernel = made;
    return result;
}

// Other threads may add twins at the head of the list, but they remove none.
static struct object *known_twin(struct object *const *list, struct box_session *session)
{
    SCOPED_LOCK(&lock);
    struct object *twin = *list;
    while (twin && twin->session != session)
        twin = twin->next;
    return twin;
}

static struct object *add_twin(struct object **list, struct object *twin)
{
    SCOPED_LOCK(&lock);
    twin->next = *list;
    *list = twin;
    return twin;
}

static struct kept_image *image_of(const struct object *library)
{
    SCOPED_LOCK(&lock);
    return library->module.image;
}

static struct object *twin_library(struct object *library, struct box_session *session,
                                   CUresult *result)
{
    struct object *twin = known_twin(&library->module.twins, session);
    if (twin)
        return twin;
    struct kept_image *image = image_of(library);
    struct jit_options *jit = image ? malloc(sizeof(*jit)) : NULL;
    if (!jit) {
        *result = CUDA_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    CUlibrary made;
    memcpy(jit->options, image->options, sizeof(jit->options));
    jit->count = image->option_count;
    *result = libraries_load(&made, image->data, image->size, jit);
    free(jit);
    if (*result != CUDA_SUCCESS)
        return NULL;
    return add_twin(&library->module.twins, object_find(HANDLE_LIBRARY, made));
}

static struct object *twin_kernel(struct object *kernel, struct box_session *session,
                                  CUresult *result)
{
    struct object *twin = known_twin(&kernel->function.twins, session);
    if (twin)
        return twin;
    struct object *owner = object_find(HANDLE_LIBRARY, (void *)(uintptr_t)kernel->function.owner);
    CUkernel made;
    *result = CUDA_ERROR_INVALID_HANDLE;
    struct object *library = owner ? twin_library(owner, session, result) : NULL;
    if (!library)
        return NULL;
    *result = library_kernel((CUlibrary)(uintptr_t)library->handle, kernel->function.name, &made);
    if (*result != CUDA_SUCCESS)
        return NULL;
    return add_twin(&kernel->function.twins, object_find(HANDLE_KERNEL, made));
}

struct object *library_twin(struct object *object, struct box_session *session, CUresult *result)
{
    *result = CUDA_SUCCESS;
    return object->kind == HANDLE_LIBRARY ? twin_library(object, session, result)
                                          : twin_kernel(object, session, result);
}

// The caller holds the lock.
static struct object *libraries_find_function(struct object *kernel, uint64_t context)
{
    struct object *function = kernel->function.functions;
    while (function && (function->context != context || !function->function.name))
        function = function->function.sibling;
    return function;
}

// Like enter_kernel, for a kernel's function in one context.
static CUresult libraries_enter_function(CUkernel handle, uint64_t context, CUfunction *made)
{
    CUresult result = CUDA_SUCCESS;
    SCOPED_LOCK(&lock);
    struct object *kernel = object_find(HANDLE_KERNEL, handle);
    struct object *function = object_find(HANDLE_FUNCTION, *made);
    if (!kernel || !function)
        return CUDA_ERROR_INVALID_HANDLE; // the library or the context has ended meanwhile
    struct object *known = libraries_find_function(kernel, context);
    function->function.owner = kernel->handle;
    function->function.sibling = kernel->function.functions;
    kernel->function.functions = function;
    if (known)
        *made = (CUfunction)(uintptr_t)known->handle;
    else if (!kernel->function.name || !(function->function.name = strdup(kernel->function.name)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return result;
}

// Returns CUDA_ERROR_NOT_FOUND if the context has no such function yet.
static CUresult libraries_know_function(CUkernel handle, uint64_t context, CUfunction *function)
{
    SCOPED_LOCK(&lock);
    struct object *kernel = object_find(HANDLE_KERNEL, handle);
    struct object *known = kernel ? libraries_find_function(kernel, context) : NULL;
    if (known)
        *function = (CUfunction)(uintptr_t)known->handle;
    return known ? CUDA_SUCCESS : kernel ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
}

CUresult kernel_function(CUkernel kernel, const struct object *context, CUfunction *function)
{
    CUfunction made;
    CUresult result = libraries_know_function(kernel, context->ctx.root, function);
    if (result != CUDA_ERROR_NOT_FOUND)
        return result;
    result = remote_cuKernelGetFunction(&made, kernel);
    if (result == CUDA_SUCCESS)
        result = libraries_enter_function(kernel, context->ctx.root, &made);
    if (result == CUDA_SUCCESS)
        *function = made;
    return result;
}

static void unlink_functions(void *argument, struct object *kernel)
{
    struct object **at = &kernel->function.functions;
    while (*at) {
        if ((*at)->context == *(const uint64_t *)argument)
            *at = (*at)->function.sibling;
        else
            at = &(*at)->function.sibling;
    }
}

static void retire_function(void *argument, struct object *function)
{
    if (function->context == *(const uint64_t *)argument)
        object_retire(HANDLE_FUNCTION, function->handle);
}

void code_forget_context(uint64_t context)
{
    SCOPED_LOCK(&lock);
    object_each(HANDLE_KERNEL, unlink_functions, &context);
    object_each(HANDLE_FUNCTION, retire_function, &context);
}
