// SPDX-License-Identifier: BSD-3-Clause
// Modules and their functions.
#include "client-lib/cuda/objects/modules.h"

#include <pthread.h>
#include <string.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/code_loading.h"
#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/objects/image_send.h"
#include "client-lib/cuda/objects/jit_options.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"
#include "common/base/log.h"
#include "common/base/scope.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // lists of functions

CUresult module_load(const void *image, struct jit_options *jit, CUmodule *module)
{
    uint32_t number = 0;
    size_t size;
    CUresult result = image_send_program(image, &number, &size);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_module_load(module, number, jit->options, jit_options_size(jit), jit->outputs,
                                sizeof(jit->outputs), &jit->outputs_size);
    jit_answer(jit);
    remote_image_free(number);
    struct object *context;
    if (result == CUDA_SUCCESS && thread_context_object(&context) == CUDA_SUCCESS &&
        code_loads_at_once(context->session, size, OP_module_code_load))
        (void)remote_module_code_load(*module);
    return result;
}

// Takes the functions from the module under the lock. The caller retires them.
static struct object *modules_take_functions(struct object *module)
{
    SCOPED_LOCK(&lock);
    struct object *functions = module->module.functions;
    module->module.functions = NULL;
    return functions;
}

CUresult module_unload(CUmodule hmod)
{
    struct object *module = object_find(HANDLE_MODULE, hmod);
    struct object *function = module ? modules_take_functions(module) : NULL;
    while (function) {
        struct object *next = function->function.sibling;
        object_retire(HANDLE_FUNCTION, function->handle);
        function = next;
    }
    return module && context_part_ends_later(module->session, OP_module_unload)
               ? remote_module_unload(hmod)
               : remote_cuModuleUnload(hmod);
}

// The caller holds the lock.
static struct object *modules_find_function(struct object *module, const char *name)
{
    struct object *function = module->module.functions;
    while (function && (!function->function.name || strcmp(function->function.name, name) != 0))
        function = function->function.sibling;
    return function;
}

// Enters a function that the box has made, until its module ends. If another thread has entered the
// same function meanwhile, returns that one; ours then has no name.
static CUresult modules_enter_function(CUmodule hmod, CUfunction *made, const char *name)
{
    CUresult result = CUDA_SUCCESS;
    SCOPED_LOCK(&lock);
    struct object *module = object_find(HANDLE_MODULE, hmod);
    struct object *function = object_find(HANDLE_FUNCTION, *made);
    if (!module || !function)
        return CUDA_ERROR_INVALID_HANDLE; // the module has ended meanwhile
    struct object *known = modules_find_function(module, name);
    function->context = module->context; // independent of the current context
    function->function.owner = module->handle;
    function->function.sibling = module->module.functions;
    module->module.functions = function;
    if (known)
        *made = (CUfunction)(uintptr_t)known->handle;
    else if (!(function->function.name = strdup(name)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return result;
}

static bool modules_know_function(struct object *module, const char *name, CUfunction *function)
{
    SCOPED_LOCK(&lock);
    struct object *known = modules_find_function(module, name);
    if (known)
        *function = (CUfunction)(uintptr_t)known->handle;
    return known != NULL;
}

CUresult module_function(CUmodule hmod, const char *name, CUfunction *function)
{
    struct object *module = object_find(HANDLE_MODULE, hmod);
    if (function && module && name && modules_know_function(module, name, function))
        return CUDA_SUCCESS;
    CUfunction made;
    CUresult result = remote_cuModuleGetFunction(function ? &made : NULL, hmod, name);
    if (result == CUDA_SUCCESS)
        result = modules_enter_function(hmod, &made, name);
    if (result == CUDA_SUCCESS)
        *function = made;
    return result;
}

// Programs may copy to and from globals as if they had allocated them.
CUresult global_enter(CUdeviceptr address, size_t size, bool managed)
{
    struct object *context;
    struct allocation known;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    // Another variable there was one of a module that is no longer loaded.
    if (memory_find(address, &known) &&
        (!known.of_module || (known.base == address && known.size == size)))
        return CUDA_SUCCESS;
    struct allocation global = {.base = address,
                                .size = size,
                                .session = context->session,
                                .context = context->ctx.root,
                                .device = context->ctx.device,
                                .of_module = true,
                                .managed = managed};
    int err = memory_add(&global);
    if (err)
        log_error(
            "no usable address for a variable of a module address=0x%llx size=%zu error=\"%s\"",
            (unsigned long long)address, size, strerror(-err));
    return err ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
