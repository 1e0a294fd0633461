// SPDX-License-Identifier: BSD-3-Clause
// The log of errors that this library has returned. All of it works before cuInit.
#include <stdio.h>

#include "common/base/descriptor.h"
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/report/error_log.h"

CUresult cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData,
                                CUlogsCallbackHandle *callback_out)
{
    if (!callbackFunc)
        return CUDA_ERROR_INVALID_VALUE;
    CUlogsCallbackHandle handle = error_log_listen(callbackFunc, userData);
    if (handle && callback_out)
        *callback_out = handle;
    return handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile, unsigned int flags)
{
    FILE *file = pathToFile ? descriptor_open_file(pathToFile, "w") : NULL;
    if (!file)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = error_log_print(iterator, file);
    return fclose(file) == 0 ? result : CUDA_ERROR_INVALID_VALUE;
}
