// SPDX-License-Identifier: BSD-3-Clause
// Managed variables of modules.
#include "daemon/worker/request/serve.h"
#include "worker_serve.h"

void serve_managed_range(struct serve *serve, const struct args_managed_range *args,
                         struct reply_managed_range *reply)
{
    unsigned int managed = 0;
    CUdeviceptr base = 0;
    size_t size = 0;

    reply->base = reply->size = 0;
    if (driver.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, args->address) !=
            CUDA_SUCCESS ||
        !managed)
        return;
    serve_fail(serve, driver.cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                                   args->address));
    serve_fail(serve, driver.cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
                                                   args->address));
    reply->base = base;
    reply->size = size;
}
