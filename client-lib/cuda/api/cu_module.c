// SPDX-License-Identifier: BSD-3-Clause
// Module management: modules, their functions and global variables.
#include <stdlib.h>

#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/managed/managed_variables.h"
#include "client-lib/cuda/objects/image_send.h"
#include "client-lib/cuda/objects/jit_options.h"
#include "client-lib/cuda/objects/modules.h"
#include "client-lib/cuda/objects/name_list.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"
#include "common/base/scope.h"

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
                            CUjit_option *options, void **values)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!module || !image)
        return CUDA_ERROR_INVALID_VALUE;
    SCOPED_FREE struct jit_options *jit = malloc(sizeof(*jit));
    if (!jit)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = jit_read(jit, count, options, values);
    return result == CUDA_SUCCESS ? module_load(image, jit, module) : result;
}

CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
    struct object *context;
    SCOPED_FREE void *data = NULL;
    size_t size;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS || !module)
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
    result = image_read_file(fname, &data, &size);
    return result == CUDA_SUCCESS ? cuModuleLoadDataEx(module, data, 0, NULL, NULL) : result;
}

CUresult cuModuleUnload(CUmodule hmod)
{
    managed_variables_leave();
    CUresult result = module_unload(hmod);
    managed_variables_left();
    return result;
}

static CUresult cu_module_ask_names(void *owner, unsigned int first, char *names, size_t room,
                                    size_t *used)
{
    return remote_module_functions(owner, first, names, room, used);
}

static CUresult cu_module_find_function(void *owner, const char *name, void **out)
{
    return module_function(owner, name, (CUfunction *)out);
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
    return name_list_take(mod, cu_module_ask_names, cu_module_find_function, numFunctions,
                          (void **)functions);
}

static CUresult give_global(CUresult result, CUdeviceptr address, size_t size, CUdeviceptr *dptr,
                            size_t *bytes)
{
    if (result == CUDA_SUCCESS && size)
        result = managed_variable_enter(address, size);
    if (result == CUDA_SUCCESS && dptr)
        *dptr = address;
    if (result == CUDA_SUCCESS && bytes)
        *bytes = size;
    return result;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
    CUdeviceptr address = 0;
    size_t size = 0;
    CUresult result = remote_cuModuleGetGlobal_v2(&address, &size, hmod, name);
    return give_global(result, address, size, dptr, bytes);
}

CUresult cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    CUdeviceptr address = 0;
    size_t size = 0;
    CUresult result = remote_cuLibraryGetGlobal(&address, &size, library, name);
    return give_global(result, address, size, dptr, bytes);
}

CUresult cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    CUdeviceptr address = 0;
    size_t size = 0;
    bool entered = false;
    if (!dptr && !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = managed_variables_need_context(library, &entered);
    if (result == CUDA_SUCCESS)
        result = remote_cuLibraryGetManaged(&address, &size, library, name);
    result = give_global(result, address, size, dptr, bytes);
    if (entered)
        thread_pop_context(NULL);
    return result;
}
