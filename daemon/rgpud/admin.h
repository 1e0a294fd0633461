// SPDX-License-Identifier: BSD-3-Clause
// The administration socket, which rgpuctl uses.
#ifndef RGPU_DAEMON_ADMIN_H
#define RGPU_DAEMON_ADMIN_H

#include "daemon/rgpud/box/box.h"

// Checks the setting `admin_socket`. Returns 0 or -EINVAL after logging.
int admin_check(const struct box_settings *settings) __attribute__((warn_unused_result));
// Opens the socket if a path is set. Returns 0 or -errno after logging.
int admin_open(struct box *box) __attribute__((warn_unused_result));
void admin_close(struct box *box);

#endif
