// SPDX-License-Identifier: BSD-3-Clause
// The driver loads a kernel in any call with its handle. So each request with a handle counts the
// kernel first, in the current context; a launch may count it in another one too. Driver calls with
// libraries, or with kernels of which no request has a handle, are replaced by functions that count
// first.
#include "daemon/worker/execute/library_use.h"

#include "common/base/handle_table.h"
#include "daemon/worker/account/library_cost.h"
#include "daemon/worker/execute/serve_green.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"

// The driver's own functions.
static CUresult (*get_global)(CUdeviceptr *address, size_t *bytes, CUlibrary library,
                              const char *name);
static CUresult (*get_module)(CUmodule *module, CUlibrary library);
static CUresult (*get_function)(CUfunction *function, CUkernel kernel);

static CUresult use_here(CUlibrary library, CUkernel kernel)
{
    CUcontext context = NULL;
    CUdevice device = 0;

    if (!session.budgeted || driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context ||
        driver.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return CUDA_SUCCESS; // the driver says what it thinks of that
    return library_cost_use(library, kernel, green_root(context), session_device_of(device))
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUlibrary library_of(uint64_t kernel)
{
    uint64_t library = session.notes[handle_index(kernel)].parent;

    return handle_find(session.handles, library, HANDLE_LIBRARY);
}

bool library_use(uint64_t handle, void *function, CUcontext root, int device)
{
    struct handle_note *note = &session.notes[handle_index(handle)];
    uint32_t epoch = atomic_load_explicit(&session.context_epoch, memory_order_acquire);

    if (handle_type(handle) != HANDLE_KERNEL ||
        (note->loaded_into == root && note->loaded_epoch == epoch))
        return true;
    if (!library_cost_use(library_of(handle), function, root, device))
        return false;
    note->loaded_into = root;
    note->loaded_epoch = epoch;
    return true;
}

static CUresult use_named(struct serve *serve, uint64_t handle, CUkernel kernel)
{
    CUdevice device = 0;

    if (!session.budgeted || !serve->current || driver.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        library_use(handle, kernel, green_root(serve->current), session_device_of(device)))
        return CUDA_SUCCESS;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult get_counted_global(CUdeviceptr *address, size_t *bytes, CUlibrary library,
                                   const char *name)
{
    CUresult result = use_here(library, LIBRARY_NO_KERNEL);

    return result == CUDA_SUCCESS ? get_global(address, bytes, library, name) : result;
}

// Functions of the module can be used without another call that is counted.
static CUresult get_counted_module(CUmodule *module, CUlibrary library)
{
    CUresult result = use_here(library, LIBRARY_ALL_KERNELS);

    return result == CUDA_SUCCESS ? get_module(module, library) : result;
}

// Drivers before 12.5 cannot say whose the kernel is.
static CUresult get_counted_function(CUfunction *function, CUkernel kernel)
{
    CUlibrary library = NULL;
    CUresult result = CUDA_SUCCESS;

    if (session.budgeted && driver.cuKernelGetLibrary &&
        driver.cuKernelGetLibrary(&library, kernel) == CUDA_SUCCESS)
        result = use_here(library, kernel);
    return result == CUDA_SUCCESS ? get_function(function, kernel) : result;
}

void library_uses_prepare(void)
{
    serve_watch_kernels(use_named);
    get_global = driver.cuLibraryGetGlobal;
    get_module = driver.cuLibraryGetModule;
    get_function = driver.cuKernelGetFunction;
    if (get_global)
        driver.cuLibraryGetGlobal = get_counted_global;
    if (get_module)
        driver.cuLibraryGetModule = get_counted_module;
    if (get_function)
        driver.cuKernelGetFunction = get_counted_function;
}
