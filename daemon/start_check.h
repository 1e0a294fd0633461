// SPDX-License-Identifier: BSD-3-Clause
// Everything about the settings that a start needs and that can be told without starting.
#ifndef RGPU_DAEMON_START_CHECK_H
#define RGPU_DAEMON_START_CHECK_H

#include "daemon/box.h"

// Takes the choice of devices, the keys, name and paths into BOX. -errno after logging all that is wrong, with the
// place of each setting.
int start_check(struct box *box) __attribute__((warn_unused_result));

#endif
