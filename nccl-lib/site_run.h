// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_NCCL_SITE_RUN_H
#define RGPU_NCCL_SITE_RUN_H

#include "nccl-lib/operation.h"

// Those of OPERATIONS that are of communicators which the site's NCCL has: it gets them all at once. Their locks are held.
ncclResult_t site_run_operations(const struct nccl_operation *operations, size_t count);

#endif
