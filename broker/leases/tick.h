// SPDX-License-Identifier: BSD-3-Clause
// Handles the passage of time: expiry of leases, silent boxes, clock changes, trimming.
#ifndef RGPU_BROKER_TICK_H
#define RGPU_BROKER_TICK_H

#include "broker/leases/core.h"

// Called once a second.
void broker_tick(struct broker *broker);

#endif
