// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_TEST_ORACLE_QUEUE_H
#define RGPU_TEST_ORACLE_QUEUE_H

#include "broker/leases/core.h"

// A lease has just been granted: no request that came before it waits for one of its GPUs.
void oracle_check_order(const struct pool *pool, const struct pool_lease *granted);
// Checks that no lease waits for GPUs that are free and in service.
void oracle_check_waiting(const struct pool *pool);
// Checks that no request waits for a long time while free GPUs that no earlier one could use
// suffice for it. START: number of the broker's start. To be called every few seconds.
void oracle_check_progress(const struct broker *broker, unsigned start);
// The broker has answered that box or GPU NAME is drained by force: all leases there end.
void oracle_check_drained(const struct pool *pool, const char *name);

#endif
