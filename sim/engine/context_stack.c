// SPDX-License-Identifier: BSD-3-Clause
// Implements each thread's stack of current contexts. An entry holds a reference.
#include <pthread.h>
#include <stdlib.h>

#include "sim/engine/context.h"
#include "sim/engine/green_context.h"

struct context_stack {
    size_t depth;
    size_t capacity;
    struct context **items;
};

static _Thread_local struct context_stack stack;
static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;

static void stack_release(void *unused)
{
    while (stack.depth)
        object_put(&stack.items[--stack.depth]->object);
    free(stack.items);
    stack = (struct context_stack){0};
}

static void context_stack_make_key(void)
{
    pthread_key_create(&stack_key, stack_release);
}

static CUresult context_stack_grow(void)
{
    if (stack.depth < stack.capacity)
        return CUDA_SUCCESS;
    size_t capacity = stack.capacity ? 2 * stack.capacity : 8;
    struct context **items = realloc(stack.items, capacity * sizeof(struct context *));
    SIM_RETURN_IF(!items, CUDA_ERROR_OUT_OF_MEMORY);
    stack.items = items;
    stack.capacity = capacity;
    pthread_once(&stack_once, context_stack_make_key);
    pthread_setspecific(stack_key, &stack);
    return CUDA_SUCCESS;
}

struct context *context_stack_top(void)
{
    return stack.depth ? stack.items[stack.depth - 1] : NULL;
}

CUresult context_stack_push(struct context *context)
{
    SIM_TRY(context_stack_grow());
    object_hold(&context->object);
    stack.items[stack.depth++] = context;
    return CUDA_SUCCESS;
}

CUresult context_stack_pop(CUcontext *handle)
{
    SIM_RETURN_IF(!stack.depth, CUDA_ERROR_INVALID_CONTEXT);
    struct context *context = stack.items[--stack.depth];
    if (handle)
        *handle = object_handle(&context->object);
    object_put(&context->object);
    return CUDA_SUCCESS;
}

// Replaces the top. NULL pops the top; on an empty stack it does nothing.
CUresult context_stack_set(struct context *context)
{
    if (context == context_stack_top())
        return CUDA_SUCCESS;
    if (stack.depth)
        SIM_TRY(context_stack_pop(NULL));
    return context ? context_stack_push(context) : CUDA_SUCCESS;
}

CUresult context_current(struct context **out)
{
    SIM_TRY(sim_check_ready());
    struct context *context = context_stack_top();
    SIM_RETURN_IF(!context, CUDA_ERROR_INVALID_CONTEXT);
    SIM_RETURN_IF(atomic_load(&context->destroyed), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    *out = context;
    return CUDA_SUCCESS;
}

CUresult context_require(struct context **out)
{
    struct context *context;
    SIM_TRY(context_current(&context));
    SIM_TRY(context_status(context));
    *out = context;
    return CUDA_SUCCESS;
}

CUresult context_get(CUcontext handle, struct context **out)
{
    SIM_TRY(sim_check_ready());
    if (!handle) {
        SIM_TRY(context_current(out));
        object_hold(&(*out)->object);
        return CUDA_SUCCESS;
    }
    struct context *context = handle_get(OBJECT_CONTEXT, handle);
    if (!context)
        context = green_context_get(handle);
    SIM_RETURN_IF(!context, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    *out = context;
    return CUDA_SUCCESS;
}
