// SPDX-License-Identifier: BSD-3-Clause
// The layout of the parameters of functions and kernels.
#include "client-lib/cuda/work/parameters.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"
#include "common/base/scope.h"

enum {
    PARAMETERS_MAX = 4096,
    SHARED_DEFAULT = 48 * 1024, // bytes that every launch may have
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Returns the box's layout after checking it: every parameter must lie within the packed buffer.
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
    for (unsigned i = 0; i < CONTEXTS_READY; i++)
        atomic_init(&layout->ready_in[i], 0);
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

// Stores the layout in the function, unless another thread has done so meanwhile.
static struct parameter_layout *parameters_adopt(struct object *function,
                                                 struct parameter_layout *layout)
{
    SCOPED_LOCK(&lock);
    if (!function->function.layout) {
        __atomic_store_n(&function->function.layout, layout, __ATOMIC_RELEASE);
        return layout;
    }
    free(layout);
    return function->function.layout;
}

struct parameter_layout *function_layout(struct object *function, CUresult *result)
{
    *result = CUDA_SUCCESS;
    struct parameter_layout *known = __atomic_load_n(&function->function.layout, __ATOMIC_ACQUIRE);
    if (known)
        return known;
    SCOPED_FREE uint8_t *bytes = malloc(WIRE_INLINE_MAX);
    size_t size = 0;
    *result = bytes ? remote_function_info((CUfunction)(uintptr_t)function->handle, bytes,
                                           WIRE_INLINE_MAX, &size)
                    : CUDA_ERROR_OUT_OF_MEMORY;
    struct parameter_layout *layout = *result == CUDA_SUCCESS ? read_layout(bytes, size, result)
                                                              : NULL;
    if (!layout)
        return NULL;
    atomic_store(&layout->ready_in[0], thread_context());
    return parameters_adopt(function, layout);
}

// Loads a kernel in CONTEXT before its first launch there. A function belongs to one context, and
// was loaded when the box reported its parameters. Only the last CONTEXTS_READY contexts are
// remembered.
void function_prepare(const struct object *function, struct parameter_layout *layout,
                      const struct object *context)
{
    if (function->kind != HANDLE_KERNEL || !context)
        return;
    for (unsigned i = 0; i < CONTEXTS_READY; i++)
        if (atomic_load_explicit(&layout->ready_in[i], memory_order_relaxed) == context->handle)
            return;
    size_t size = sizeof(struct wire_function_info) + layout->count * sizeof(struct wire_parameter);
    SCOPED_FREE uint8_t *info = malloc(size);
    if (info)
        (void)remote_function_info((CUfunction)(uintptr_t)function->handle, info, size, &size);
    for (unsigned i = CONTEXTS_READY - 1; i > 0; i--)
        atomic_store_explicit(&layout->ready_in[i], atomic_load(&layout->ready_in[i - 1]),
                              memory_order_relaxed);
    atomic_store_explicit(&layout->ready_in[0], context->handle, memory_order_relaxed);
}
