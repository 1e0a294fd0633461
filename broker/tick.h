// SPDX-License-Identifier: BSD-3-Clause
// What happens because time passes: expiry, silence, a clock that is set, trimming.
#ifndef RGPU_BROKER_TICK_H
#define RGPU_BROKER_TICK_H

#include "broker/core.h"

// Once a second.
void broker_tick(struct broker *broker);

#endif
