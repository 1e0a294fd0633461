// SPDX-License-Identifier: BSD-3-Clause
// Metrics of this box for Prometheus, over HTTP on a port of their own.
#ifndef RGPU_DAEMON_EXPORTER_H
#define RGPU_DAEMON_EXPORTER_H

#include "daemon/rgpud/box/box.h"

// Checks the setting `metrics_listen`. Returns 0 or -EINVAL after logging.
int exporter_check(const struct box_settings *settings) __attribute__((warn_unused_result));
// Opens the port if the setting has an address, and logs it. Returns 0, or -errno after logging.
int exporter_open(struct box *box, struct askers **askers) __attribute__((warn_unused_result));

#endif
