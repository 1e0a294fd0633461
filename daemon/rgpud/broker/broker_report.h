// SPDX-License-Identifier: BSD-3-Clause
// JSON reports of this box for the broker (docs/reference/broker-api.md). The caller owns the
// references.
#ifndef RGPU_DAEMON_BROKER_REPORT_H
#define RGPU_DAEMON_BROKER_REPORT_H

#include <jansson.h>

#include "daemon/rgpud/box/box.h"

// Logs a warning if the broker is on another host and an address for clients is only for this one.
void broker_report_check_addresses(const struct box *box);

// Describes box and GPUs. INSTANCE identifies this run of rgpud.
json_t *broker_report_box(const struct box *box, const char *instance);
json_t *broker_report_sessions(const struct box *box);
// Reports activity figures of each GPU.
json_t *broker_report_figures(const struct box *box);

#endif
