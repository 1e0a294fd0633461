// SPDX-License-Identifier: BSD-3-Clause
// Opens the broker's database, loads the pool from it, and begins a run (history.h). Logs errors.
#ifndef RGPU_BROKER_START_H
#define RGPU_BROKER_START_H

#include "broker/leases/core.h"

enum outcome broker_open(const char *path, bool full_sync, struct broker *broker)
    __attribute__((warn_unused_result));
void broker_close(struct broker *broker);

#endif
