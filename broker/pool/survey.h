// SPDX-License-Identifier: BSD-3-Clause
// Surveys the pool for placement: which GPUs a request could have, and how many in each box.
#ifndef RGPU_BROKER_SURVEY_H
#define RGPU_BROKER_SURVEY_H

#include "broker/pool/pool.h"

struct plan_slot {
    struct pool_gpu *gpu;
    uint32_t part; // index of the part in the request
};

// One placement attempt. `ideal`: assume an empty pool with everything in service.
struct placement {
    struct pool *pool;
    const struct request *request;
    uint64_t sequence;
    bool ideal;
    bool waited_for;                   // the queue is not empty, so there may be claims
    uint32_t order[REQUEST_PARTS_MAX]; // parts, the hardest to place first
    const char *model_seen;            // cache of the last glob: models are interned
    bool model_match;
    struct plan_slot *slots;
    size_t count;
};

// Returns true if the part could have this GPU, in addition to the planned slots.
bool placement_fits(struct placement *attempt, struct pool_gpu *gpu,
                    const struct request_part *part);
// Counts per box, in `scratch_free`, the GPUs that fit some part; called once per attempt.
void placement_survey(struct placement *attempt);

#endif
