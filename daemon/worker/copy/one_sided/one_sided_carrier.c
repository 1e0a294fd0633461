// SPDX-License-Identifier: BSD-3-Clause
// Carrier of links with direct access to the client's memory.
#include "daemon/worker/copy/parts/carrier.h"
#include "daemon/worker/copy/mapped/mapped_carrier.h"
#include "daemon/worker/copy/one_sided/one_sided.h"
#include "daemon/worker/copy/one_sided/one_sided_requests.h"
#include "daemon/worker/copy/parts/staging.h"

static bool one_sided_carrier_resolve(const void **host, uint64_t size)
{
    return one_sided_has((uint64_t)(uintptr_t)*host, size);
}

static void copy_box(struct serve *serve, CUDA_MEMCPY3D *copy, CUstream stream)
{
    unsigned hosts = (copy->srcMemoryType == CU_MEMORYTYPE_HOST) +
                     (copy->dstMemoryType == CU_MEMORYTYPE_HOST);

    // The blocks of a move are placed by addresses, which arrays have not.
    if (hosts &&
        (copy->srcMemoryType == CU_MEMORYTYPE_ARRAY || copy->dstMemoryType == CU_MEMORYTYPE_ARRAY))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (hosts == 1) {
        if (!serve_failed(serve))
            one_sided_copy_box(serve, copy, stream);
        return;
    }
    one_sided_break_row();
    if (hosts)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    mapped_copy_box(serve, copy, stream);
}

static void signal_client(struct serve *serve, uint32_t index, uint32_t value, CUstream stream)
{
    if (!serve_failed(serve) && one_sided_flag(stream, index, value))
        return;
    mapped_signal(serve, index, value, stream);
    if (!serve_failed(serve))
        one_sided_signal(serve, index, value, stream);
}

const struct carrier carrier_one_sided = {
    .start = one_sided_start,
    .copy = one_sided_copy,
    .resolve = one_sided_carrier_resolve,
    .copy_box = copy_box,
    .signal = signal_client,
    .forget = one_sided_forget_region,
    .reply_blocks = STAGING_SMALL,
};
