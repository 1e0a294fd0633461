// SPDX-License-Identifier: BSD-3-Clause
// Opens the broker: its database, its pool, its history.
#ifndef RGPU_BROKER_START_H
#define RGPU_BROKER_START_H

#include "broker/leases/core.h"

enum outcome broker_open(const char *path, bool full_sync, struct broker *broker)
    __attribute__((warn_unused_result));
void broker_close(struct broker *broker);

#endif
