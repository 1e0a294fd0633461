// SPDX-License-Identifier: BSD-3-Clause
// Figures of this box for Prometheus, over HTTP, at an address of their own.
#ifndef RGPU_DAEMON_EXPORTER_H
#define RGPU_DAEMON_EXPORTER_H

#include "daemon/box.h"

// -EINVAL after logging.
int exporter_check(const struct box_settings *settings) __attribute__((warn_unused_result));
// Listens where the settings say so; prints the address as bound. -errno after logging.
int exporter_open(struct box *box, struct askers **askers) __attribute__((warn_unused_result));

#endif
