// SPDX-License-Identifier: BSD-3-Clause
// Checks that the broker's memory is what a restart would read from the database.
#ifndef RGPU_TEST_ORACLE_STORE_H
#define RGPU_TEST_ORACLE_STORE_H

#include "broker/leases/core.h"

void oracle_check_store(const struct broker *broker);

#endif
