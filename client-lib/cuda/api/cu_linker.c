// SPDX-License-Identifier: BSD-3-Clause
// Module management: the linker.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/objects/image_send.h"
#include "client-lib/cuda/objects/linking.h"
#include "common/base/scope.h"

CUresult cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
                         CUlinkState *stateOut)
{
    return linker_create(numOptions, options, optionValues, stateOut);
}

CUresult cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
                      CUlinkState *stateOut)
{
    return linker_create(numOptions, options, optionValues, stateOut);
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                          const char *name, unsigned int numOptions, CUjit_option *options,
                          void **optionValues)
{
    return size > INTPTR_MAX
               ? CUDA_ERROR_INVALID_IMAGE
               : linker_add(state, type, data, size, numOptions, options, optionValues);
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                       const char *name, unsigned int numOptions, CUjit_option *options,
                       void **optionValues)
{
    return size > INTPTR_MAX
               ? CUDA_ERROR_INVALID_IMAGE
               : linker_add(state, type, data, size, numOptions, options, optionValues);
}

static CUresult cu_linker_add_file(CUlinkState state, CUjitInputType type, const char *path,
                                   unsigned int count, CUjit_option *options, void **values)
{
    SCOPED_FREE void *data = NULL;
    size_t size;
    CUresult result = image_read_file(path, &data, &size);
    if (result != CUDA_SUCCESS)
        return result;
    size_t whole = size + (type == CU_JIT_INPUT_PTX); // a text with its NUL
    return linker_add(state, type, data, whole, count, options, values);
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                          unsigned int numOptions, CUjit_option *options, void **optionValues)
{
    return cu_linker_add_file(state, type, path, numOptions, options, optionValues);
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                       unsigned int numOptions, CUjit_option *options, void **optionValues)
{
    return cu_linker_add_file(state, type, path, numOptions, options, optionValues);
}

CUresult cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    size_t size;
    if (!cubinOut)
        return CUDA_ERROR_INVALID_VALUE;
    return linker_complete(state, cubinOut, sizeOut ? sizeOut : &size);
}

CUresult cuLinkDestroy(CUlinkState state)
{
    return linker_destroy(state);
}
