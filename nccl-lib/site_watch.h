// SPDX-License-Identifier: BSD-3-Clause
// A rank that the site's NCCL has in its box, and who looks after it: when another rank is lost, the library's kernels would
// wait for that one for ever.
#ifndef RGPU_NCCL_SITE_WATCH_H
#define RGPU_NCCL_SITE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl-lib/loaded_calls.h"

struct site_rank {
    uint32_t number; // what the box knows it by; 0: there is none
    bool ended;      // since another rank was lost; under the watch's lock
    int ranks, rank;
    CUcontext context;
    struct rgpu_team *team;
    bool looking;    // the watch is at it
    unsigned looked; // in which of its rounds
    struct site_rank *next;
};

// -1: no thread can be had.
int site_watch_begin(struct site_rank *rank);
// RANK is not looked at any more when this returns.
void site_watch_end(struct site_rank *rank);

#endif
