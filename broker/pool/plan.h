// SPDX-License-Identifier: BSD-3-Clause
// Decides which GPUs a request gets. Does not modify leases or GPUs.
#ifndef RGPU_BROKER_PLAN_H
#define RGPU_BROKER_PLAN_H

#include "broker/pool/outcome.h"
#include "broker/pool/survey.h"

struct plan {
    size_t count;
    struct plan_slot *slots;
};

// Finds GPUs for all of `request`, or for nothing. GPUs that a waiting request of a sequence below
// SEQUENCE could use are kept for it, so that small requests do not starve a large one. The caller
// frees *PLAN with plan_clear. OUTCOME_BUSY: GPUs are missing at this moment. OUTCOME_IMPOSSIBLE:
// GPUs would be missing even in an idle pool with every GPU in service.
enum outcome plan_make(struct pool *pool, const struct request *request, uint64_t sequence,
                       struct plan *plan) __attribute__((warn_unused_result));
// As plan_make, but cheaper: returns OUTCOME_BUSY also for impossible requests.
enum outcome plan_try(struct pool *pool, const struct request *request, uint64_t sequence,
                      struct plan *plan) __attribute__((warn_unused_result));
// Returns true if the request could be granted in an idle pool with every GPU in service.
bool plan_is_possible(struct pool *pool, const struct request *request);
void plan_clear(struct plan *plan);
// Returns how many leases of this request could be granted now, at most LIMIT.
uint32_t plan_count(struct pool *pool, const struct request *request, uint64_t sequence,
                    uint32_t limit);
// Returns the hold that a lease of REQUEST gets for slot PLACE of PLAN.
struct pool_hold plan_hold(const struct request *request, const struct plan *plan, size_t place);

// Returns 0, or -EINVAL and a sentence in *WHY if the request contradicts itself.
int request_check(const struct request *request, const char **why)
    __attribute__((warn_unused_result));

#endif
