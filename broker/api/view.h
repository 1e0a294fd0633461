// SPDX-License-Identifier: BSD-3-Clause
// Converts the pool to JSON for the API.
#ifndef RGPU_BROKER_VIEW_H
#define RGPU_BROKER_VIEW_H

#include <jansson.h>

#include "broker/pool/pool.h"

// Return one word, see docs/reference/broker-api.md.
const char *view_box_state(const struct pool_box *box);
const char *view_gpu_state(const struct pool_gpu *gpu);

json_t *view_box(const struct pool_box *box);
json_t *view_gpu(const struct pool_gpu *gpu);
// `full`: include the caller's key, for callers who may end the lease.
json_t *view_lease(const struct pool_lease *lease, bool full);

#endif
