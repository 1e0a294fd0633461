// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_NCCL_SITE_RUN_H
#define RGPU_NCCL_SITE_RUN_H

#include "client-lib/nccl/operation.h"

// Passes those of OPERATIONS whose communicators use the boxes' NCCL to the boxes, all at once. The
// caller holds the locks of the communicators.
ncclResult_t site_run_operations(const struct nccl_operation *operations, size_t count);

#endif
