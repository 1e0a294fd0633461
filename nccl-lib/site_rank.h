// SPDX-License-Identifier: BSD-3-Clause
// The site's NCCL, in place of puts: where every rank's box has one, it carries out the operations of the communicator.
#ifndef RGPU_NCCL_SITE_RANK_H
#define RGPU_NCCL_SITE_RANK_H

#include "nccl-lib/nccl_failure.h"
#include "nccl-lib/site_watch.h"

// All ranks, which have met as the team, agree on whether they take it. RANK->number is not 0 then. An error only if they have
// lost each other.
ncclResult_t site_rank_join(struct site_rank *rank, int timeout_ms);
// What the box says has become of it.
ncclResult_t site_rank_ask(const struct site_rank *rank);
// Before the team ends. Without the others where ABORTED.
void site_rank_part(struct site_rank *rank, bool aborted);

#endif
