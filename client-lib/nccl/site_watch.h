// SPDX-License-Identifier: BSD-3-Clause
// A rank in the boxes' own NCCL, and the thread that watches all such ranks of the process. NCCL's
// kernels would wait forever for a lost rank, so the thread checks each team every 0.1 seconds, and
// aborts the rank if its team has lost a member.
#ifndef RGPU_NCCL_SITE_WATCH_H
#define RGPU_NCCL_SITE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/nccl/loaded_calls.h"

struct site_rank {
    uint32_t number; // identifies the communicator on the box; 0: none
    bool ended;      // the thread aborted it since the team was lost; protected by the watch's lock
    int ranks, rank;
    CUcontext context;      // the communicator's
    struct rgpu_team *team; // the communicator's, which owns it
    bool looking;           // the thread is checking the team of this rank
    unsigned looked;        // number of the thread's last round that checked the team
    struct site_rank *next; // list of watched ranks
};

// Begins to watch RANK, which the caller owns and keeps until site_watch_end. Starts the thread on
// the first call. Returns 0, or -1 if the thread cannot be started. Thread-safe.
int site_watch_begin(struct site_rank *rank);
// Ends the watching. The thread does not use RANK after this returns. Thread-safe.
void site_watch_end(struct site_rank *rank);

#endif
