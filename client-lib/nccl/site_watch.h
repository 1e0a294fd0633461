// SPDX-License-Identifier: BSD-3-Clause
// A rank that the boxes' NCCL has in its box, and the thread that watches it. When another rank is
// lost, NCCL's kernels would wait for that rank forever.
#ifndef RGPU_NCCL_SITE_WATCH_H
#define RGPU_NCCL_SITE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/nccl/loaded_calls.h"

struct site_rank {
    uint32_t number; // the box's number of the rank; 0: none
    bool ended;      // because another rank was lost; protected by the watch's lock
    int ranks, rank;
    CUcontext context;
    struct rgpu_team *team;
    bool looking;    // the thread is checking it
    unsigned looked; // number of the last round that checked it
    struct site_rank *next;
};

// Returns -1 if no thread can be started.
int site_watch_begin(struct site_rank *rank);
// The watching thread no longer uses RANK when this returns.
void site_watch_end(struct site_rank *rank);

#endif
