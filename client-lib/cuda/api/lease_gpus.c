// SPDX-License-Identifier: BSD-3-Clause
// The table by which librgpu uses GPUs of the lease that the program does not see.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/session/process.h"
#include "proto/lease_table.h"

RGPU_EXPORT extern const struct lease_table rgpu_lease_table;
const struct lease_table rgpu_lease_table = {.reach = process_reach};
