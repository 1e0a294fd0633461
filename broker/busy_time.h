// SPDX-License-Identifier: BSD-3-Clause
// GPU time of leases, as boxes count it. Each box says how far its counts are; what is new since it said so before is
// added to the hour in which it says it. The database remembers how far each count was, so that nothing is added twice
// or lost when broker or box are started anew.
#ifndef RGPU_BROKER_BUSY_TIME_H
#define RGPU_BROKER_BUSY_TIME_H

#include <jansson.h>

#include "broker/core.h"

// LIST is what the box reports, from outside. True: counts that are over are in the database, and the box may forget
// them. Others are written once a minute.
bool busy_time_take(struct broker *broker, struct pool_box *box, const json_t *list);

#endif
