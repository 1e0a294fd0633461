// SPDX-License-Identifier: BSD-3-Clause
#include "worker/move/mark.h"

#include "worker/driver_load.h"

CUresult mark_set(struct mark *mark, CUcontext context, CUstream stream)
{
    if (mark->context != context) {
        if (mark->context)
            driver.cuEventDestroy_v2(mark->event);
        CUresult result = driver.cuEventCreate(&mark->event, CU_EVENT_DISABLE_TIMING);
        mark->context = result == CUDA_SUCCESS ? context : NULL;
        if (result != CUDA_SUCCESS)
            return result;
    }
    return driver.cuEventRecord(mark->event, stream);
}

CUresult mark_ask(const struct mark *mark)
{
    return mark->context ? driver.cuEventQuery(mark->event) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void mark_forget(struct mark *mark, CUcontext context)
{
    if (mark->context != context)
        return;
    mark->context = NULL;
    driver.cuEventDestroy_v2(mark->event);
}
