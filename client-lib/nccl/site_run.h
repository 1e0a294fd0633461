// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_NCCL_SITE_RUN_H
#define RGPU_NCCL_SITE_RUN_H

#include "client-lib/nccl/operation.h"

// Queues those of OPERATIONS on the boxes whose communicators use the boxes' NCCL, as one group.
// The caller holds the locks of the communicators. ncclInvalidUsage means that the group is too
// long, and nothing was queued. If a driver call fails, the teams of these communicators are
// aborted, because the other ranks would wait forever.
ncclResult_t site_run_operations(const struct nccl_operation *operations, size_t count);

#endif
