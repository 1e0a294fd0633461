// SPDX-License-Identifier: BSD-3-Clause
// Library management: libraries and kernels.
#include <stdlib.h>

#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/managed/managed_variables.h"
#include "client-lib/cuda/objects/image_send.h"
#include "client-lib/cuda/objects/jit_options.h"
#include "client-lib/cuda/work/known_answers.h"
#include "client-lib/cuda/objects/libraries.h"
#include "client-lib/cuda/objects/name_list.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"
#include "common/driver/image.h"
#include "common/base/scope.h"

struct library_options {
    CUjit_option *jit;
    void **jit_values;
    unsigned int jit_count;
    CUlibraryOption *library;
    void **library_values;
    unsigned int library_count;
};

static CUresult cu_library_load(CUlibrary *library, const void *code,
                                const struct library_options *options)
{
    struct image image;
    if (!library || !code)
        return CUDA_ERROR_INVALID_VALUE;
    if (image_locate(code, &image) != 0)
        return CUDA_ERROR_INVALID_IMAGE;
    SCOPED_FREE struct jit_options *jit = malloc(sizeof(*jit));
    if (!jit)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = jit_read(jit, options->jit_count, options->jit, options->jit_values);
    if (result == CUDA_SUCCESS)
        result = jit_add_library_options(jit, options->library_count, options->library,
                                         options->library_values);
    return result == CUDA_SUCCESS ? library_load(&image, jit, library) : result;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                           void **jitOptionsValues, unsigned int numJitOptions,
                           CUlibraryOption *libraryOptions, void **libraryOptionValues,
                           unsigned int numLibraryOptions)
{
    struct library_options options = {jitOptions,     jitOptionsValues,    numJitOptions,
                                      libraryOptions, libraryOptionValues, numLibraryOptions};
    return cu_library_load(library, code, &options);
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
                               void **jitOptionsValues, unsigned int numJitOptions,
                               CUlibraryOption *libraryOptions, void **libraryOptionValues,
                               unsigned int numLibraryOptions)
{
    struct library_options options = {jitOptions,     jitOptionsValues,    numJitOptions,
                                      libraryOptions, libraryOptionValues, numLibraryOptions};
    SCOPED_FREE void *data = NULL;
    size_t size;
    CUresult result = process_ready();
    if (result != CUDA_SUCCESS || !library)
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
    result = image_read_file(fileName, &data, &size);
    return result == CUDA_SUCCESS ? cu_library_load(library, data, &options) : result;
}

CUresult cuLibraryUnload(CUlibrary library)
{
    managed_variables_leave();
    CUresult result = library_unload(library);
    managed_variables_left();
    return result;
}

static CUresult cu_library_ask_names(void *owner, unsigned int first, char *names, size_t room,
                                     size_t *used)
{
    return remote_library_kernels(owner, first, names, room, used);
}

static CUresult cu_library_find_kernel(void *owner, const char *name, void **out)
{
    return library_kernel(owner, name, (CUkernel *)out);
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
    return name_list_take(lib, cu_library_ask_names, cu_library_find_kernel, numKernels,
                          (void **)kernels);
}

CUresult cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    struct object *object = pi ? object_find(HANDLE_KERNEL, kernel) : NULL;
    CUresult result;
    return object && known_attribute(object, dev, attrib, pi, &result)
               ? result
               : remote_cuKernelGetAttribute(pi, attrib, kernel, dev);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
    struct object *object = object_find(HANDLE_KERNEL, kernel);
    struct known_question setting = {KNOWN_SETTING, .device = dev, .first = attrib};
    uint64_t asked;
    if (known_is_set(object, &setting, val, &asked))
        return CUDA_SUCCESS;
    CUresult result = remote_cuKernelSetAttribute(attrib, val, kernel, dev);
    known_set(object, &setting, result == CUDA_SUCCESS ? &val : NULL, asked);
    return result;
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    CUresult result = remote_cuKernelSetCacheConfig(kernel, config, dev);
    known_set(object_find(HANDLE_KERNEL, kernel), NULL, NULL, 0);
    return result;
}

CUresult cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    struct object *object = object_find(HANDLE_KERNEL, kernel);
    if (!pLib || !object)
        return pLib ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    *pLib = (CUlibrary)(uintptr_t)object->function.owner;
    return CUDA_SUCCESS;
}
