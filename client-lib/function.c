// What is known of functions and kernels: names, and the layout of their parameters.
#include <stdlib.h>
#include <string.h>

#include "client-lib/exports.h"
#include "client-lib/library.h"
#include "client-lib/object.h"
#include "client-lib/process.h"
#include "client-lib/session.h"

enum {
    PARAMETERS_MAX = 4096,
    SHARED_DEFAULT = 48 * 1024, // bytes that any launch may have
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// What the box said, checked: every parameter lies within the packed buffer.
static struct parameter_layout *read_layout(const uint8_t *bytes, size_t size, CUresult *result)
{
    struct wire_function_info head;
    *result = CUDA_ERROR_UNKNOWN;
    if (size < sizeof(head))
        return NULL;
    memcpy(&head, bytes, sizeof(head));
    if (head.parameter_count > PARAMETERS_MAX || head.parameter_bytes > WIRE_INLINE_MAX / 2 ||
        size - sizeof(head) < head.parameter_count * sizeof(struct wire_parameter))
        return NULL;
    struct parameter_layout *layout =
        malloc(sizeof(*layout) + head.parameter_count * sizeof(layout->parameters[0]));
    if (!layout) {
        *result = CUDA_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    layout->count = head.parameter_count;
    layout->bytes = head.parameter_bytes;
    layout->max_threads = head.max_threads;
    layout->static_shared = head.static_shared;
    layout->attributes_allowed = 0;
    layout->shared_allowed = (uint32_t)head.static_shared < SHARED_DEFAULT
                                 ? SHARED_DEFAULT - (uint32_t)head.static_shared
                                 : 0;
    memcpy(layout->parameters, bytes + sizeof(head),
           head.parameter_count * sizeof(layout->parameters[0]));
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct wire_parameter *parameter = &layout->parameters[i];
        if (parameter->offset > layout->bytes ||
            parameter->size > layout->bytes - parameter->offset) {
            free(layout);
            return NULL;
        }
    }
    *result = CUDA_SUCCESS;
    return layout;
}

struct parameter_layout *function_layout(struct object *function, CUresult *result)
{
    *result = CUDA_SUCCESS;
    struct parameter_layout *known = __atomic_load_n(&function->function.layout, __ATOMIC_ACQUIRE);
    if (known)
        return known;
    uint8_t *bytes = malloc(WIRE_INLINE_MAX);
    size_t size = 0;
    *result = bytes ? remote_function_info((CUfunction)(uintptr_t)function->handle, bytes,
                                           WIRE_INLINE_MAX, &size)
                    : CUDA_ERROR_OUT_OF_MEMORY;
    struct parameter_layout *layout =
        *result == CUDA_SUCCESS ? read_layout(bytes, size, result) : NULL;
    free(bytes);
    if (!layout)
        return NULL;
    pthread_mutex_lock(&lock);
    if (!function->function.layout) {
        __atomic_store_n(&function->function.layout, layout, __ATOMIC_RELEASE);
    } else {
        free(layout);
        layout = function->function.layout;
    }
    pthread_mutex_unlock(&lock);
    return layout;
}

static CUresult find(enum handle_kind kind, const void *handle, struct object **function)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    *function = object_find(kind, handle);
    return *function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult param_info(struct object *function, size_t index, size_t *offset, size_t *size)
{
    CUresult result;
    const struct parameter_layout *layout = function_layout(function, &result);
    if (!layout)
        return result;
    if (index >= layout->count || !offset)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = layout->parameters[index].offset;
    if (size)
        *size = layout->parameters[index].size;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                            size_t *paramSize)
{
    struct object *function;
    CUresult result = find(HANDLE_FUNCTION, func, &function);
    return result == CUDA_SUCCESS ? param_info(function, paramIndex, paramOffset, paramSize)
                                  : result;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                              size_t *paramSize)
{
    struct object *function;
    CUresult result = find(HANDLE_KERNEL, kernel, &function);
    return result == CUDA_SUCCESS ? param_info(function, paramIndex, paramOffset, paramSize)
                                  : result;
}

static CUresult name_of(enum handle_kind kind, const void *handle, const char **name)
{
    struct object *function;
    CUresult result = find(kind, handle, &function);
    if (result == CUDA_SUCCESS && !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *name = function->function.name;
    return result;
}

CUresult cuFuncGetName(const char **name, CUfunction hfunc)
{
    return name_of(HANDLE_FUNCTION, hfunc, name);
}

CUresult cuKernelGetName(const char **name, CUkernel hfunc)
{
    return name_of(HANDLE_KERNEL, hfunc, name);
}

CUresult cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    struct object *function;
    CUresult result = find(HANDLE_FUNCTION, hfunc, &function);
    if (result == CUDA_SUCCESS && !hmod)
        return CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    // A function of a kernel leads to its library, whose module in this context is asked for.
    uint64_t owner = function->function.owner;
    if (object_find(HANDLE_MODULE, (void *)(uintptr_t)owner)) {
        *hmod = (CUmodule)(uintptr_t)owner;
        return CUDA_SUCCESS;
    }
    struct object *kernel = object_find(HANDLE_KERNEL, (void *)(uintptr_t)owner);
    if (!kernel)
        kernel = function->kind == HANDLE_KERNEL ? function : NULL;
    return kernel ? cuLibraryGetModule(hmod, (CUlibrary)(uintptr_t)kernel->function.owner)
                  : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    struct object *function;
    return find(HANDLE_FUNCTION, hfunc, &function);
}
