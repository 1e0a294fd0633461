// SPDX-License-Identifier: BSD-3-Clause
// See name_list.h.
#include "client-lib/cuda/objects/name_list.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"
#include "proto/wire.h"

CUresult name_list_take(void *owner, name_list_ask *ask, name_list_find *find, unsigned int count,
                        void **out)
{
    SCOPED_FREE char *names = malloc(WIRE_INLINE_MAX);
    unsigned int done = 0;
    CUresult result = !out && count ? CUDA_ERROR_INVALID_VALUE
                      : names       ? CUDA_SUCCESS
                                    : CUDA_ERROR_OUT_OF_MEMORY;
    while (result == CUDA_SUCCESS && done < count) {
        size_t used = 0;
        result = ask(owner, done, names, WIRE_INLINE_MAX, &used);
        if (result != CUDA_SUCCESS || !used || names[used - 1])
            break;
        for (size_t at = 0; at < used && done < count && result == CUDA_SUCCESS;
             at += strlen(names + at) + 1)
            result = find(owner, names + at, &out[done++]);
    }
    return result;
}
