// SPDX-License-Identifier: BSD-3-Clause
// Accounts the GPU time of leases. Each box reports running counts; the increase since its previous
// report is added to the hour of the report. The database stores the last value of each count, so a
// restart of broker or box neither repeats nor loses time.
#ifndef RGPU_BROKER_BUSY_TIME_H
#define RGPU_BROKER_BUSY_TIME_H

#include <jansson.h>

#include "broker/leases/core.h"

// Takes over LIST, an untrusted report of a box. Returns true if finished counts are in the
// database, and the box may forget them. Other counts are written once a minute.
bool busy_time_take(struct broker *broker, struct pool_box *box, const json_t *list);

#endif
