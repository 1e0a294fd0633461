// SPDX-License-Identifier: BSD-3-Clause
// The boxes' own NCCL, in place of puts. If every rank's box has it, it carries out the operations
// of the communicator.
#ifndef RGPU_NCCL_SITE_RANK_H
#define RGPU_NCCL_SITE_RANK_H

#include "client-lib/nccl/nccl_failure.h"
#include "client-lib/nccl/site_watch.h"

// All ranks, which have met as a team, agree if they use the boxes' NCCL; then RANK->number is not
// 0. Returns an error only if the ranks have lost each other.
ncclResult_t site_rank_join(struct site_rank *rank, int timeout_ms);
// Queries the state of the rank on the box.
ncclResult_t site_rank_ask(const struct site_rank *rank);
// Ends the rank, before its team ends. If ABORTED, the other ranks take no part.
void site_rank_part(struct site_rank *rank, bool aborted);

#endif
