// SPDX-License-Identifier: BSD-3-Clause
// Decides which GPUs are left to waiting requests. The claim on a GPU is cached with it until the
// queue or the GPU changes, because each new request examines every free GPU and the queue may be
// long.
#ifndef RGPU_BROKER_CLAIMS_H
#define RGPU_BROKER_CLAIMS_H

#include "broker/pool/pool.h"

// Matches TEXT against a glob of a request, ignoring case; an empty pattern matches everything.
bool pattern_matches(const char *pattern, const char *text);

// Returns true if the request can use GPUs that can limit a lease to a part (PARTS), or that
// cannot.
bool parts_are_kind(const struct request *request, bool parts);
// Returns true if a GPU is of the requested kind, at any location. `of_model`: the GPU's model
// matches.
bool gpu_is_kind(const struct request *request, const struct pool_gpu *gpu, bool of_model);
bool box_matches(const struct request *request, const struct pool_box *box);

// Returns true if the GPU is of a kind that the request could use, ignoring its current holders.
bool request_wants(const struct request *request, const struct pool_gpu *gpu);

// Returns true if the GPU is kept for another request, which a scheduler has planned.
bool plans_bar(const struct pool *pool, const struct request *request, const struct pool_gpu *gpu);
// Returns true if a waiting request of lower sequence could use this GPU.
bool claims_bar(const struct pool *pool, struct pool_gpu *gpu, uint64_t sequence);

#endif
