// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_TEST_ORACLE_POOL_H
#define RGPU_TEST_ORACLE_POOL_H

#include "broker/leases/core.h"

// Every GPU's books agree with the leases that hold it, and none is promised twice.
void oracle_check_pool(const struct pool *pool);
// All GPUs are free.
void oracle_check_free(const struct pool *pool);
// No box that knows the broker's epoch runs or accepts sessions of a lease that has ended.
void oracle_look_for_sessions(const struct broker *broker, const char *lease);
// The broker knows until when the tickets of this epoch can be used.
void oracle_check_tickets(const struct broker *broker);

#endif
