// SPDX-License-Identifier: BSD-3-Clause
// Periodic work: ends expired leases, detects silent boxes and changes of the wall clock, and
// deletes old records.
#ifndef RGPU_BROKER_TICK_H
#define RGPU_BROKER_TICK_H

#include "broker/leases/core.h"

// Must be called once a second.
void broker_tick(struct broker *broker);

#endif
