// SPDX-License-Identifier: BSD-3-Clause
// Decides which GPUs are kept for waiting requests. A claim is cached in its GPU until the queue or
// the GPU changes, because every new request examines all free GPUs and the queue may be long.
#ifndef RGPU_BROKER_CLAIMS_H
#define RGPU_BROKER_CLAIMS_H

#include "broker/pool/pool.h"

// Matches TEXT against a glob, ignoring case. An empty pattern matches everything.
bool pattern_matches(const char *pattern, const char *text);

// Returns true if the request accepts the GPU. A request with a compute limit needs a GPU on which
// the box can enforce such a limit. PARTS: the box can.
bool parts_are_kind(const struct request *request, bool parts);
// Returns true if the GPU has the properties that the request demands, regardless of its box.
// OF_MODEL: the GPU's model matches the request's glob.
bool gpu_is_kind(const struct request *request, const struct pool_gpu *gpu, bool of_model);
// Returns true if the GPU is in service, or if the request takes drained GPUs, present and ready.
bool request_may_use(const struct request *request, const struct pool_gpu *gpu);
bool box_matches(const struct request *request, const struct pool_box *box);

// Returns true if the request could use the GPU, regardless of its present holders.
bool request_wants(const struct request *request, const struct pool_gpu *gpu);

// Returns true if the GPU is kept for another request, which a scheduler has planned.
bool plans_bar(const struct pool *pool, const struct request *request, const struct pool_gpu *gpu);
// Returns true if a waiting request of lower sequence could use this GPU.
bool claims_bar(const struct pool *pool, struct pool_gpu *gpu, uint64_t sequence);

#endif
