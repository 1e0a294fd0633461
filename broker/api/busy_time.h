// SPDX-License-Identifier: BSD-3-Clause
// Adds up the GPU time of leases. Each box reports a running count of busy milliseconds for each
// lease; the increase since the previous report is added to the current hour. The database stores
// the last value of each count, so a restart of the broker or of a box loses or repeats no time.
#ifndef RGPU_BROKER_BUSY_TIME_H
#define RGPU_BROKER_BUSY_TIME_H

#include <jansson.h>

#include "broker/leases/core.h"

// Reads LIST, an untrusted report of a box. Returns true if all counts of ended sessions are in the
// database; the box may then delete them. Counts of running sessions are written once a minute.
bool busy_time_take(struct broker *broker, struct pool_box *box, const json_t *list);

#endif
