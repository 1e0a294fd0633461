// SPDX-License-Identifier: BSD-3-Clause
// Serves metrics of this box for Prometheus over HTTP, at a separate address.
#ifndef RGPU_DAEMON_EXPORTER_H
#define RGPU_DAEMON_EXPORTER_H

#include "daemon/rgpud/box/box.h"

// Checks the setting `metrics_listen`. Returns 0 or -EINVAL after logging.
int exporter_check(const struct box_settings *settings) __attribute__((warn_unused_result));
// Listens if an address is set, and logs the bound port. Returns 0 or -errno after logging.
int exporter_open(struct box *box, struct askers **askers) __attribute__((warn_unused_result));

#endif
