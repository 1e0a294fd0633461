// SPDX-License-Identifier: BSD-3-Clause
// Finds for one placement the GPUs that a request could use, and counts them per box.
#ifndef RGPU_BROKER_SURVEY_H
#define RGPU_BROKER_SURVEY_H

#include "broker/pool/pool.h"

struct plan_slot {
    struct pool_gpu *gpu;
    uint32_t part; // index into request->parts
};

// One attempt to place a request. `ideal`: assume an idle pool with every GPU in service.
struct placement {
    struct pool *pool;
    const struct request *request;
    uint64_t sequence;
    bool ideal;
    bool mixed; // the request has parts of both modes
    // the queue is not empty, so waiting requests may have claims
    bool waited_for;
    uint32_t order[REQUEST_PARTS_MAX]; // indexes into request->parts, the hardest to place first
    // last model compared with the request's glob, and the result
    const char *model_seen;
    bool model_match;
    struct plan_slot *slots;
    size_t count;
};

// Returns true if PART could use the GPU, besides the GPUs in `slots`.
bool placement_fits(struct placement *attempt, struct pool_gpu *gpu,
                    const struct request_part *part);
// Sets box->scratch_free of each box to the number of GPUs that some part of the request could use.
// Must be called once before placing.
void placement_survey(struct placement *attempt);

#endif
