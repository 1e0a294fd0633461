// SPDX-License-Identifier: BSD-3-Clause
// The carrier of links that are byte streams: data comes and goes in blocks (push.c, pull.c). The client's own
// memory cannot be named; what names it is refused as memory that nobody maps.
#include "worker/move/carrier.h"
#include "worker/move/mapped/client_memory.h"
#include "worker/move/mapped/mapped_carrier.h"
#include "worker/move/staged/pull.h"
#include "worker/move/staged/push.h"
#include "worker/move/staged/small_pull.h"
#include "worker/move/staging.h"

static int start(void)
{
    return push_start() || pull_start() || small_pull_start() ? -1 : 0;
}

static void refuse_signal(struct serve *serve, uint32_t index, uint32_t value, CUstream stream)
{
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
}

const struct carrier carrier_staged = {
    .start = start,
    .copy = mapped_copy,
    .resolve = mapped_resolve,
    .copy_box = mapped_copy_box,
    .signal = refuse_signal,
    .forget = host_memory_unmap,
    .addresses = true,
    .blocks_for_rows = true,
    .reply_blocks = STAGING_PULL,
};
