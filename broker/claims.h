// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs are left to those who wait. What was found out about a GPU is kept with it until the queue
// or the GPU changes, since newcomers ask for every free GPU of the pool and the queue may be long.
#ifndef RGPU_BROKER_CLAIMS_H
#define RGPU_BROKER_CLAIMS_H

#include "broker/pool.h"

// A glob of a request, whatever the case; an empty one matches everything.
bool pattern_matches(const char *pattern, const char *text);

// Whether GPUs whose boxes keep leases to a part of them (PARTS), or do not, can be what it asks for.
bool parts_are_kind(const struct request *request, bool parts);
// Whether a GPU is of the kind that is asked for, wherever it is; `of_model`: its model is.
bool gpu_is_kind(const struct request *request, const struct pool_gpu *gpu, bool of_model);
bool box_matches(const struct request *request, const struct pool_box *box);

// Whether the GPU is of a kind that the request could use, apart from who holds what of it.
bool request_wants(const struct request *request, const struct pool_gpu *gpu);

// Whether somebody of a lower sequence waits who could use this GPU.
bool claims_bar(const struct pool *pool, struct pool_gpu *gpu, uint64_t sequence);

#endif
