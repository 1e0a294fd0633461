// SPDX-License-Identifier: BSD-3-Clause
// Decides where a request is placed. Changes nothing in the pool.
#ifndef RGPU_BROKER_PLAN_H
#define RGPU_BROKER_PLAN_H

#include "broker/pool/outcome.h"
#include "broker/pool/survey.h"

struct plan {
    size_t count;
    struct plan_slot *slots;
};

// Places all of `request` or nothing. GPUs that a waiting request with a sequence below `sequence`
// could use are left to it, so that small requests do not starve a large one. OUTCOME_BUSY: not at
// this moment. OUTCOME_IMPOSSIBLE: not even with every known GPU free and in service.
enum outcome plan_make(struct pool *pool, const struct request *request, uint64_t sequence,
                       struct plan *plan) __attribute__((warn_unused_result));
// Like plan_make, but returns OUTCOME_BUSY in both cases without checking if the request is
// possible.
enum outcome plan_try(struct pool *pool, const struct request *request, uint64_t sequence,
                      struct plan *plan) __attribute__((warn_unused_result));
// Returns true if the request fits with every known GPU free and in service.
bool plan_is_possible(struct pool *pool, const struct request *request);
void plan_clear(struct plan *plan);
// Returns how often in a row the request could be granted at this moment, at most `limit`.
uint32_t plan_count(struct pool *pool, const struct request *request, uint64_t sequence,
                    uint32_t limit);
// Returns the hold that a lease of `request` would have at index `place` of its plan.
struct pool_hold plan_hold(const struct request *request, const struct plan *plan, size_t place);

// Returns 0, or -EINVAL with a sentence in *why if a request makes no sense.
int request_check(const struct request *request, const char **why)
    __attribute__((warn_unused_result));

#endif
