// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_NCCL_GROUP_RUN_H
#define RGPU_NCCL_GROUP_RUN_H

#include "client-lib/nccl/operation.h"

// Carries out all operations of a group, those of several communicators in turns.
ncclResult_t group_run_operations(const struct nccl_operation *operations, size_t count);

#endif
