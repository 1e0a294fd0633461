// SPDX-License-Identifier: BSD-3-Clause
// Builds the JSON reports about this box for the broker (docs/reference/broker-api.md).
#ifndef RGPU_DAEMON_BROKER_REPORT_H
#define RGPU_DAEMON_BROKER_REPORT_H

#include <jansson.h>

#include "daemon/rgpud/box/box.h"

// Describes the box. INSTANCE identifies this run of the daemon.
json_t *broker_report_box(const struct box *box, const char *instance);
json_t *broker_report_sessions(const struct box *box);
// Reports the current activity of each GPU.
json_t *broker_report_figures(const struct box *box);

#endif
