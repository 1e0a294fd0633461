// SPDX-License-Identifier: BSD-3-Clause
// Where a request is placed: pure decisions over the pool, which changes nothing.
#ifndef RGPU_BROKER_PLAN_H
#define RGPU_BROKER_PLAN_H

#include "broker/outcome.h"
#include "broker/survey.h"

struct plan {
    size_t count;
    struct plan_slot *slots;
};

// Places all of `request` or nothing. GPUs that an earlier waiting request could use (one of
// sequence below `sequence`) are left to it, so that a large request is not starved by small ones.
// OUTCOME_BUSY: not now. OUTCOME_IMPOSSIBLE: not even with every known GPU free and in service.
enum outcome plan_make(struct pool *pool, const struct request *request, uint64_t sequence,
                       struct plan *plan) __attribute__((warn_unused_result));
// The same without finding out whether it could ever be: OUTCOME_BUSY in both cases.
enum outcome plan_try(struct pool *pool, const struct request *request, uint64_t sequence,
                      struct plan *plan) __attribute__((warn_unused_result));
// Whether the request fits with every known GPU free and in service.
bool plan_is_possible(struct pool *pool, const struct request *request);
void plan_clear(struct plan *plan);
// How often in a row the request could be granted just now, at most `limit` times.
uint32_t plan_count(struct pool *pool, const struct request *request, uint64_t sequence,
                    uint32_t limit);
// What a lease of `request` would hold at a place of its plan.
struct pool_hold plan_hold(const struct request *request, const struct plan *plan, size_t place);

// -EINVAL with a sentence in *why when a request makes no sense.
int request_check(const struct request *request, const char **why)
    __attribute__((warn_unused_result));

#endif
