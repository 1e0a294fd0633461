// SPDX-License-Identifier: BSD-3-Clause
// Modules and libraries: loading, and lookup of functions and variables.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/account/charge.h"
#include "daemon/worker/account/library_cost.h"
#include "daemon/worker/core/driver_load.h"
#include "daemon/worker/core/empty_kernel.h"
#include "daemon/worker/execute/serve_green.h"
#include "daemon/worker/execute/serve_image.h"
#include "daemon/worker/copy/parts/assert_lines.h"
#include "daemon/worker/copy/parts/print.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

static void note_prints(const struct uploaded_image *image)
{
    if (!atomic_load(&session.prints) && image_prints(image))
        print_expect();
}

static void load_module(struct serve *serve, const struct args_module_load *args,
                        const struct uploaded_image *image, struct jit_request *jit)
{
    CUmodule module = NULL;
    CUdevice device = 0;

    assert_lines_begin();
    serve_fail(serve, driver.cuCtxGetDevice(&device));
    if (!serve_failed(serve))
        serve_fail(serve, charge_module(image->data, image->size, jit, green_root(serve->current),
                                        session_device_of(device)));
    if (!serve_failed(serve)) {
        serve_fail(serve, driver.cuModuleLoadDataEx(&module, image->data, jit->count, jit->names,
                                                    jit->values));
        jit_reply(serve, jit, args->reply_room);
    }
    if (!serve_failed(serve)) {
        serve_bind(serve, HANDLE_MODULE, args->module, module, serve_context(serve));
        charge_rename(jit, module);
        note_prints(image);
        empty_kernel_run();
    } else {
        charge_drop(jit);
    }
}

void serve_module_load(struct serve *serve, const struct args_module_load *args)
{
    struct jit_request jit;

    struct uploaded_image *image = image_take(serve, args->image);
    if (!image)
        return;
    if (jit_parse(serve, args + 1, args->bytes, &jit))
        load_module(serve, args, image, &jit);
    jit_free(&jit);
    image_put(image);
}

void serve_cuModuleUnload(struct serve *serve, const struct args_cuModuleUnload *args)
{
    CUmodule module = serve_handle(serve, HANDLE_MODULE, args->hmod);

    if (!serve_require(serve, driver.cuModuleUnload))
        return;
    serve_fail(serve, driver.cuModuleUnload(module));
    if (!serve_failed(serve))
        charge_drop(module);
    serve_unbind(serve, HANDLE_MODULE, args->hmod);
}

void serve_module_unload(struct serve *serve, const struct args_module_unload *args)
{
    serve_cuModuleUnload(serve, &(struct args_cuModuleUnload){.hmod = args->hmod});
}

static void load_library(struct serve *serve, const struct args_library_load *args,
                         const struct uploaded_image *image, struct jit_request *jit)
{
    struct library_cost *cost;
    CUlibrary library = NULL;

    assert_lines_begin();
    serve_fail(serve, library_cost_new(image->data, image->size, &cost));
    if (!serve_failed(serve)) {
        serve_fail(serve, driver.cuLibraryLoadData(&library, image->data, jit->names, jit->values,
                                                   jit->count, NULL, NULL, 0));
        jit_reply(serve, jit, args->reply_room);
    }
    if (!serve_failed(serve)) {
        library_cost_is(cost, library);
        serve_bind(serve, HANDLE_LIBRARY, args->library, library, 0);
        note_prints(image);
    } else {
        library_cost_free(cost);
    }
}

void serve_library_load(struct serve *serve, const struct args_library_load *args)
{
    struct jit_request jit;

    struct uploaded_image *image = image_take(serve, args->image);
    if (!image)
        return;
    if (jit_parse(serve, args + 1, args->bytes, &jit))
        load_library(serve, args, image, &jit);
    jit_free(&jit);
    image_put(image);
}

void serve_cuLibraryUnload(struct serve *serve, const struct args_cuLibraryUnload *args)
{
    CUlibrary library = serve_handle(serve, HANDLE_LIBRARY, args->library);

    if (!serve_require(serve, driver.cuLibraryUnload))
        return;
    serve_fail(serve, driver.cuLibraryUnload(library));
    if (!serve_failed(serve))
        library_cost_end(library);
    serve_unbind(serve, HANDLE_LIBRARY, args->library);
}

void serve_library_unload(struct serve *serve, const struct args_library_unload *args)
{
    serve_cuLibraryUnload(serve, &(struct args_cuLibraryUnload){.library = args->library});
}

// ---- what is in an image ----

void serve_module_function_count(struct serve *serve, const struct args_module_function_count *args,
                                 struct reply_module_function_count *reply, CUmodule module)
{
    serve_fail(serve, driver.cuModuleGetFunctionCount(&reply->count, module));
}

void serve_library_kernel_count(struct serve *serve, const struct args_library_kernel_count *args,
                                struct reply_library_kernel_count *reply, CUlibrary library)
{
    serve_fail(serve, driver.cuLibraryGetKernelCount(&reply->count, library));
}

// All that are in MODULE, of which the caller frees the list. CUDA_ERROR_NOT_SUPPORTED: by an older
// driver.
static CUresult list_functions(CUmodule module, CUfunction **list, unsigned *count)
{
    if (!driver.cuModuleGetFunctionCount || !driver.cuModuleEnumerateFunctions)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = driver.cuModuleGetFunctionCount(count, module);
    if (result != CUDA_SUCCESS || !*count)
        return result;
    *list = calloc(*count, sizeof(**list));
    return *list ? driver.cuModuleEnumerateFunctions(*list, *count, module)
                 : CUDA_ERROR_OUT_OF_MEMORY;
}

// The same of LIBRARY.
static CUresult list_kernels(CUlibrary library, CUkernel **list, unsigned *count)
{
    if (!driver.cuLibraryGetKernelCount || !driver.cuLibraryEnumerateKernels)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = driver.cuLibraryGetKernelCount(count, library);
    if (result != CUDA_SUCCESS || !*count)
        return result;
    *list = calloc(*count, sizeof(**list));
    return *list ? driver.cuLibraryEnumerateKernels(*list, *count, library)
                 : CUDA_ERROR_OUT_OF_MEMORY;
}

// Names of LIST from number FIRST on, as many as fit whole.
static void reply_names(struct serve *serve, void **list, unsigned count, uint32_t first,
                        uint32_t room, CUresult (*name_of)(const char **name, void *object))
{
    uint32_t used = 0;

    room = serve_reply_room(serve, room);
    for (uint32_t i = first; i < count; i++) {
        const char *name = NULL;
        serve_fail(serve, name_of(&name, list[i]));
        if (serve_failed(serve))
            return;
        size_t length = strlen(name) + 1;
        if (length > room - used)
            break;
        memcpy(serve->bytes + used, name, length);
        used += (uint32_t)length;
    }
    serve_reply_bytes(serve, serve->bytes, used);
}

static CUresult kernel_name(const char **name, void *kernel)
{
    return driver.cuKernelGetName ? driver.cuKernelGetName(name, kernel) : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult function_name(const char **name, void *function)
{
    return driver.cuFuncGetName ? driver.cuFuncGetName(name, function) : CUDA_ERROR_NOT_SUPPORTED;
}

void serve_library_kernels(struct serve *serve, const struct args_library_kernels *args,
                           CUlibrary library)
{
    SCOPED_FREE CUkernel *list = NULL;
    unsigned count = 0;

    serve_fail(serve, list_kernels(library, &list, &count));
    if (!serve_failed(serve))
        reply_names(serve, (void **)list, count, args->first, args->reply_room, kernel_name);
}

void serve_module_functions(struct serve *serve, const struct args_module_functions *args,
                            CUmodule module)
{
    SCOPED_FREE CUfunction *list = NULL;
    unsigned count = 0;

    serve_fail(serve, list_functions(module, &list, &count));
    if (!serve_failed(serve))
        reply_names(serve, (void **)list, count, args->first, args->reply_room, function_name);
}

// ---- code ----

static void load_functions(CUfunction *functions, unsigned count)
{
    CUresult result = CUDA_SUCCESS;

    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = driver.cuFuncLoad(functions[i]);
    if (result != CUDA_SUCCESS)
        log_debug("code not loaded before its first launch result=%s", driver_error_name(result));
    empty_kernel_run();
}

// Older drivers have no calls for that, and load as their environment says.
void serve_module_code_load(struct serve *serve, const struct args_module_code_load *args,
                            CUmodule module)
{
    SCOPED_FREE CUfunction *functions = NULL;
    unsigned count = 0;

    if (!serve_failed(serve) && driver.cuFuncLoad &&
        list_functions(module, &functions, &count) == CUDA_SUCCESS)
        load_functions(functions, count);
}

// Into the current context.
void serve_library_code_load(struct serve *serve, const struct args_library_code_load *args,
                             CUlibrary library)
{
    SCOPED_FREE CUkernel *kernels = NULL;
    unsigned count = 0, known = 0;

    if (!driver.cuFuncLoad || !driver.cuKernelGetFunction ||
        list_kernels(library, &kernels, &count) != CUDA_SUCCESS)
        return;
    SCOPED_FREE CUfunction *functions = calloc(count ? count : 1, sizeof(*functions));
    while (functions && known < count &&
           driver.cuKernelGetFunction(&functions[known], kernels[known]) == CUDA_SUCCESS)
        known++;
    load_functions(functions, known);
}
