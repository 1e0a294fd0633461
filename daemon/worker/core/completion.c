// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/core/completion.h"

#include "daemon/worker/core/driver_load.h"

CUresult completion_create(struct completion *completion, CUcontext context)
{
    if (completion->context == context)
        return CUDA_SUCCESS;
    if (completion->context)
        driver.cuEventDestroy_v2(completion->event);
    CUresult result = driver.cuEventCreate(&completion->event, CU_EVENT_DISABLE_TIMING);
    completion->context = result == CUDA_SUCCESS ? context : NULL;
    return result;
}

CUresult completion_record(struct completion *completion, CUcontext context, CUstream stream)
{
    CUresult result = completion_create(completion, context);

    return result == CUDA_SUCCESS ? driver.cuEventRecord(completion->event, stream) : result;
}

CUresult completion_query(const struct completion *completion)
{
    return completion->context ? driver.cuEventQuery(completion->event)
                               : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult completion_wait(const struct completion *completion)
{
    return completion->context ? driver.cuEventSynchronize(completion->event)
                               : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void completion_forget(struct completion *completion, CUcontext context)
{
    if (completion->context != context)
        return;
    completion->context = NULL;
    driver.cuEventDestroy_v2(completion->event);
}
