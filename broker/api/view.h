// SPDX-License-Identifier: BSD-3-Clause
// Converts boxes, GPUs and leases to the JSON of the API. Each caller owns the returned reference.
#ifndef RGPU_BROKER_VIEW_H
#define RGPU_BROKER_VIEW_H

#include <jansson.h>

#include "broker/pool/pool.h"

// Return the state as one word; docs/reference/broker-api.md lists the words.
const char *view_box_state(const struct pool_box *box);
const char *view_gpu_state(const struct pool_gpu *gpu);

json_t *view_box(const struct pool_box *box);
json_t *view_gpu(const struct pool_gpu *gpu);
// `full`: include the lease's key. Only callers that may end the lease may see the key.
json_t *view_lease(const struct pool_lease *lease, bool full);

#endif
