// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_TEST_ORACLE_QUEUE_H
#define RGPU_TEST_ORACLE_QUEUE_H

#include "broker/pool/pool.h"

// A lease has just been granted: no request that came before it waits for one of its GPUs.
void oracle_check_order(const struct pool *pool, const struct pool_lease *granted);
// Checks that no lease waits for GPUs that are free and in service.
void oracle_check_waiting(const struct pool *pool);
// The broker has answered that box or GPU NAME is drained by force: all leases there end.
void oracle_check_drained(const struct pool *pool, const char *name);

#endif
