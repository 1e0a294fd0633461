// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/managed_variables.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/managed/coherence.h"
#include "client-lib/cuda/managed/mirror.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/objects/modules.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "cuda_ops.h"

// A variable that the program queried. Its pages have a mirror.
struct managed_variable {
    uint64_t address;
    uint64_t base; // first of its pages
    struct managed_variable *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct managed_variable *variables;

static int mirror_pages(uint64_t base, uint64_t size, const struct object *context)
{
    struct mirror_place place = {
        .base = base,
        .size = size,
        .session = context->session,
        .context = context->handle,
        .in_parts = true,
    };
    if (mirror_knows(base))
        return 0;
    coherence_begin();
    int err = memory_keep_free(base, size, context->session);
    return err ? err : mirror_add(&place) == CUDA_SUCCESS ? 0 : -ENOMEM;
}

static CUresult managed_variables_enter(uint64_t address, size_t bytes, uint64_t base,
                                        uint64_t size, const struct object *context)
{
    SCOPED_LOCK(&lock);
    struct managed_variable *variable = variables;
    while (variable && variable->address != address)
        variable = variable->next;
    if (!variable) {
        variable = malloc(sizeof(*variable));
        if (!variable)
            return CUDA_ERROR_OUT_OF_MEMORY;
        *variable = (struct managed_variable){address, base, variables};
        variables = variable;
    }
    int err = mirror_pages(base, size, context);
    if (err)
        log_error("managed variables lie where the program has memory of its own address=0x%llx "
                  "size=%llu error=\"%s\"",
                  (unsigned long long)base, (unsigned long long)size, strerror(-err));
    return err ? CUDA_ERROR_OUT_OF_MEMORY : mirror_add_part(address, bytes);
}

CUresult managed_variables_need_context(CUlibrary library, bool *entered)
{
    struct object *context, *object = object_find(HANDLE_LIBRARY, library);
    CUcontext primary;
    *entered = false;
    if (!object || thread_context_object(&context) == CUDA_SUCCESS)
        return CUDA_SUCCESS;
    // The context is kept until the process ends, as the variables are.
    CUresult result = primary_retain(object->session->first_device, &primary);
    if (result == CUDA_SUCCESS)
        result = thread_push_context(primary);
    *entered = result == CUDA_SUCCESS;
    return result;
}

CUresult managed_variable_enter(CUdeviceptr address, size_t size)
{
    struct object *context;
    uint64_t base = 0, length = 0;
    CUresult result = thread_context_object(&context);
    if (result == CUDA_SUCCESS && session_knows(context->session, OP_managed_range))
        result = remote_managed_range(address, &base, &length);
    if (result == CUDA_SUCCESS && length)
        result = managed_variables_enter(address, size, base, length, context);
    return result == CUDA_SUCCESS ? global_enter(address, size, length != 0) : result;
}

void managed_variables_leave(void)
{
    SCOPED_LOCK(&lock);
    for (struct managed_variable *v = variables; v; v = v->next)
        (void)mirror_send(v->base, 1);
}

static bool managed_variables_is_gone(const struct managed_variable *variable)
{
    struct object *context;
    uint64_t base, size = 0;
    return thread_context_object(&context) == CUDA_SUCCESS &&
           remote_managed_range(variable->address, &base, &size) == CUDA_SUCCESS && !size;
}

// The caller holds the lock.
static bool has_variables(uint64_t base)
{
    const struct managed_variable *v = variables;
    while (v && v->base != base)
        v = v->next;
    return v != NULL;
}

void managed_variables_left(void)
{
    SCOPED_LOCK(&lock);
    for (struct managed_variable **at = &variables; *at;) {
        struct managed_variable *variable = *at;
        if (!managed_variables_is_gone(variable)) {
            at = &variable->next;
            continue;
        }
        *at = variable->next;
        mirror_remove_part(variable->address);
        if (!has_variables(variable->base))
            (void)mirror_remove(variable->base);
        free(variable);
    }
}
