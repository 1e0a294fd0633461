// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_NCCL_GROUP_RUN_H
#define RGPU_NCCL_GROUP_RUN_H

#include "client-lib/nccl/operation.h"

// Queues all operations of a group (nccl_group.h) in their streams. The steps of several
// communicators alternate, since one may wait for another. The function locks the communicators,
// and returns without waiting for the streams. On an error, some operations may be queued.
ncclResult_t group_run_operations(const struct nccl_operation *operations, size_t count);

#endif
