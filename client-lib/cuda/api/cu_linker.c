// SPDX-License-Identifier: BSD-3-Clause
// Module management: the linker.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/objects/image_send.h"
#include "client-lib/cuda/objects/linking.h"
#include "common/base/scope.h"

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
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
