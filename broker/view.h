// SPDX-License-Identifier: BSD-3-Clause
// The pool as JSON, as the API shows it.
#ifndef RGPU_BROKER_VIEW_H
#define RGPU_BROKER_VIEW_H

#include <jansson.h>

#include "broker/pool.h"

// One word, see docs/broker-api.md.
const char *view_box_state(const struct pool_box *box);
const char *view_gpu_state(const struct pool_gpu *gpu);

json_t *view_box(const struct pool_box *box);
json_t *view_gpu(const struct pool_gpu *gpu);
// `full`: with the caller's key, which is for those who may end the lease.
json_t *view_lease(const struct pool_lease *lease, bool full);

#endif
