// SPDX-License-Identifier: BSD-3-Clause
// The part of placement that looks at the pool: which GPUs a request could have, and how many of each box.
#ifndef RGPU_BROKER_SURVEY_H
#define RGPU_BROKER_SURVEY_H

#include "broker/pool.h"

struct plan_slot {
    struct pool_gpu *gpu;
    uint32_t part; // of the request
};

// One attempt. `ideal` asks what would be possible in an empty pool with everything in service.
struct placement {
    struct pool *pool;
    const struct request *request;
    uint64_t sequence;
    bool ideal;
    bool waited_for;                   // somebody is in the queue, and may have claims
    uint32_t order[REQUEST_PARTS_MAX]; // parts, the hardest to place first
    const char *model_seen;            // cache of the last glob: models are interned
    bool model_match;
    struct plan_slot *slots;
    size_t count;
};

// Whether the part could have this GPU now, beside what is planned already.
bool placement_fits(struct placement *attempt, struct pool_gpu *gpu,
                    const struct request_part *part);
// Counts per box the GPUs that fit some part, as `scratch_free`, once per attempt.
void placement_survey(struct placement *attempt);

#endif
