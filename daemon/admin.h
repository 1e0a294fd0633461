// SPDX-License-Identifier: BSD-3-Clause
// The administrator's socket.
#ifndef RGPU_DAEMON_ADMIN_H
#define RGPU_DAEMON_ADMIN_H

#include "daemon/box.h"

// -EINVAL after logging.
int admin_check(const struct box_settings *settings) __attribute__((warn_unused_result));
// Does nothing where no path is set. -errno after logging.
int admin_open(struct box *box) __attribute__((warn_unused_result));
void admin_close(struct box *box);

#endif
