// SPDX-License-Identifier: BSD-3-Clause
// What the broker is told of this box, as JSON (docs/broker-api.md).
#ifndef RGPU_DAEMON_BROKER_REPORT_H
#define RGPU_DAEMON_BROKER_REPORT_H

#include <jansson.h>

#include "daemon/box.h"

// INSTANCE names this start of the daemon.
json_t *broker_report_box(const struct box *box, const char *instance);
json_t *broker_report_sessions(const struct box *box);
// What each GPU does at the moment.
json_t *broker_report_figures(const struct box *box);

#endif
