// SPDX-License-Identifier: BSD-3-Clause
// Carrier of byte streams: data travel in blocks (push.c, pull.c). The client's memory is not
// mapped, so requests that name it are refused.
#include "daemon/worker/copy/parts/carrier.h"
#include "daemon/worker/copy/mapped/client_memory.h"
#include "daemon/worker/copy/mapped/mapped_carrier.h"
#include "daemon/worker/copy/staged/pull.h"
#include "daemon/worker/copy/staged/push.h"
#include "daemon/worker/copy/staged/small_pull.h"
#include "daemon/worker/copy/parts/staging.h"

static int staged_carrier_start(void)
{
    return push_start() || pull_start() || small_pull_start() ? -1 : 0;
}

static void refuse_signal(struct serve *serve, uint32_t index, uint32_t value, CUstream stream)
{
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
}

const struct carrier carrier_staged = {
    .start = staged_carrier_start,
    .copy = mapped_copy,
    .resolve = mapped_resolve,
    .copy_box = mapped_copy_box,
    .signal = refuse_signal,
    .forget = host_memory_unmap,
    .addresses = true,
    .blocks_for_rows = true,
    .reply_blocks = STAGING_PULL,
};
