// SPDX-License-Identifier: BSD-3-Clause
// Tensor maps arrive unaligned, but the driver requires alignment.
#include <string.h>

#include "proto/wire.h"
#include "worker_driver.h"
#include "worker_serve.h"

void serve_cuTensorMapReplaceAddress(struct serve *serve,
                                     const struct args_cuTensorMapReplaceAddress *args,
                                     struct reply_cuTensorMapReplaceAddress *reply)
{
    CUtensorMap map;

    memcpy(&map, &args->tensorMap, sizeof(map));
    serve_fail(serve,
               driver.cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)args->globalAddress));
    memcpy(&reply->tensorMap, &map, sizeof(map));
}
