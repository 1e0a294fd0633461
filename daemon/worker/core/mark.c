// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/core/mark.h"

#include "daemon/worker/core/driver_load.h"

CUresult mark_make(struct mark *mark, CUcontext context)
{
    if (mark->context == context)
        return CUDA_SUCCESS;
    if (mark->context)
        driver.cuEventDestroy_v2(mark->event);
    CUresult result = driver.cuEventCreate(&mark->event, CU_EVENT_DISABLE_TIMING);
    mark->context = result == CUDA_SUCCESS ? context : NULL;
    return result;
}

CUresult mark_set(struct mark *mark, CUcontext context, CUstream stream)
{
    CUresult result = mark_make(mark, context);

    return result == CUDA_SUCCESS ? driver.cuEventRecord(mark->event, stream) : result;
}

CUresult mark_ask(const struct mark *mark)
{
    return mark->context ? driver.cuEventQuery(mark->event) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult mark_await(const struct mark *mark)
{
    return mark->context ? driver.cuEventSynchronize(mark->event) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void mark_forget(struct mark *mark, CUcontext context)
{
    if (mark->context != context)
        return;
    mark->context = NULL;
    driver.cuEventDestroy_v2(mark->event);
}
