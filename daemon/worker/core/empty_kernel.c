// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/core/empty_kernel.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/driver_load.h"
#include "worker_driver.h"

static const char empty_ptx[] = ".version 6.0\n"
                                ".target sm_50\n"
                                ".address_size 64\n"
                                ".visible .entry " EMPTY_KERNEL "()\n"
                                "{\n"
                                "    ret;\n"
                                "}\n";

// The contexts that have it loaded. Its memory is released with the context.
struct loaded_kernel {
    CUcontext context;
    CUfunction kernel;
    CUstream stream;
    struct loaded_kernel *next;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct loaded_kernel *loaded; // under lock

static void empty_kernel_forget_context(CUcontext context)
{
    SCOPED_LOCK(&lock);
    for (struct loaded_kernel **at = &loaded; *at; at = &(*at)->next)
        if ((*at)->context == context) {
            struct loaded_kernel *gone = *at;
            *at = gone->next;
            free(gone);
            return;
        }
}

static void watch_contexts(void)
{
    context_watch(empty_kernel_forget_context);
}

static CUresult empty_kernel_load(struct loaded_kernel *here)
{
    CUmodule module;
    CUresult result = driver.cuModuleLoadData(&module, empty_ptx);

    if (result == CUDA_SUCCESS)
        result = driver.cuModuleGetFunction(&here->kernel, module, EMPTY_KERNEL);
    if (result == CUDA_SUCCESS)
        result = driver.cuStreamCreate(&here->stream, CU_STREAM_NON_BLOCKING);
    return result;
}

// Under lock.
static CUresult find_loaded(CUcontext context, struct loaded_kernel **found)
{
    struct loaded_kernel *here = loaded;

    while (here && here->context != context)
        here = here->next;
    *found = here;
    if (here)
        return CUDA_SUCCESS;
    here = calloc(1, sizeof(*here));
    if (!here)
        return CUDA_ERROR_OUT_OF_MEMORY;
    here->context = context;
    CUresult result = empty_kernel_load(here);
    if (result != CUDA_SUCCESS) {
        free(here);
        return result;
    }
    here->next = loaded;
    *found = loaded = here;
    return CUDA_SUCCESS;
}

static CUresult run(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CUcontext context;
    struct loaded_kernel *here;

    if (!driver.cuModuleLoadData || !driver.cuModuleGetFunction || !driver.cuStreamCreate ||
        !driver.cuLaunchKernel)
        return CUDA_ERROR_NOT_SUPPORTED;
    pthread_once(&once, watch_contexts);
    CUresult result = driver.cuCtxGetCurrent(&context);
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    result = find_loaded(context, &here);
    if (result == CUDA_SUCCESS)
        result = driver.cuLaunchKernel(here->kernel, 1, 1, 1, 1, 1, 1, 0, here->stream, NULL, NULL);
    return result;
}

void empty_kernel_run(void)
{
    CUresult result = run();

    if (result != CUDA_SUCCESS)
        log_debug("no empty kernel runs in a context error=%s", driver_error_name(result));
}
