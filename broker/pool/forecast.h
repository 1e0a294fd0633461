// SPDX-License-Identifier: BSD-3-Clause
// Forecasts for a scheduler that knows the order in which its jobs end: how often each of its
// requests would fit if its jobs held nothing, how much of that each job takes until it ends, and
// the GPUs that the next requests will have. Single figures of a busy pool say nothing of this.
#ifndef RGPU_BROKER_FORECAST_H
#define RGPU_BROKER_FORECAST_H

#include "broker/pool/pool.h"

// A GPU that a job holds, or will hold again.
struct forecast_hold {
    size_t job; // its place in the order of ends
    struct pool_hold hold;
    bool aside;   // not held: it is kept free for the suspended lease
    uint8_t mode; // of the GPU
};

struct forecast {
    const struct request *requests; // each of one part
    size_t request_count;
    const bool *waiting;         // requests that wait, so that others leave such GPUs alone
    bool marks;                  // sets the marks in the pool; without, nothing is changed
    const size_t *next;          // requests that are granted next, in their order
    size_t next_count;           // at most POOL_PLANNED_MAX
    struct forecast_hold *holds; // by job, the job that ends last first
    size_t hold_count;
    uint64_t sequence; // GPUs that earlier waiting requests could use are not free
    uint32_t limit;    // highest count for one request

    // The results, in memory of the caller that is zeroed.
    uint32_t *now;         // for each request, how often it fits
    uint64_t *total;       // for each request, that and all that jobs take
    uint32_t *each;        // for each request, how often it fits on one GPU at most
    uint32_t *takes;       // for each job, how much it takes from each request
    uint64_t gpus, memory; // that there would be if jobs held nothing
    // GPUs that shares keep from being whole, and memory that whole GPUs keep from shares
    uint64_t gpus_in_shares, memory_in_whole;
};

// Adds the holds of a lease to `holds`, which has enough elements; `lends`: what the lease has
// given back is for others.
void forecast_add_lease(struct forecast *forecast, size_t job, const struct pool_lease *lease,
                        bool lends);
// Fills in the results, and with `marks` marks in the pool which GPUs are sought, and kept for the
// next requests. Returns 0 or -ENOMEM.
int forecast_make(struct pool *pool, struct forecast *forecast) __attribute__((warn_unused_result));
// Takes the marks away.
void forecast_forget(struct pool *pool);

#endif
