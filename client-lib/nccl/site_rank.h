// SPDX-License-Identifier: BSD-3-Clause
// Communicators of the NCCL that is installed on the boxes ("site"). If the boxes of all ranks have
// the same version, their NCCL carries out the operations, and this library puts nothing.
#ifndef RGPU_NCCL_SITE_RANK_H
#define RGPU_NCCL_SITE_RANK_H

#include "client-lib/nccl/nccl_failure.h"
#include "client-lib/nccl/site_watch.h"

// Makes this rank's communicator on its box, if all ranks can make theirs; RANK->number is 0 if
// not. The caller has filled in the other members of RANK, and all ranks of its team call this.
// TIMEOUT_MS limits the wait for the other ranks. Returns an error only if the team is lost or host
// memory is exhausted.
ncclResult_t site_rank_join(struct site_rank *rank, int timeout_ms);
// Queries the asynchronous error of the rank's NCCL on the box.
ncclResult_t site_rank_ask(const struct site_rank *rank);
// Ends the rank's communicator on the box; does nothing without one. The caller ends the team
// afterwards. This waits for pending operations or, if ABORTED, aborts them.
void site_rank_part(struct site_rank *rank, bool aborted);

#endif
