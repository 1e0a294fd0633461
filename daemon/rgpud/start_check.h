// SPDX-License-Identifier: BSD-3-Clause
// Checks all settings that can be checked without starting anything.
#ifndef RGPU_DAEMON_START_CHECK_H
#define RGPU_DAEMON_START_CHECK_H

#include "daemon/rgpud/box/box.h"

// Stores the choice of devices, the keys, the name and the paths in BOX. Returns 0, or -errno after
// logging every error with the place of its setting.
int start_check(struct box *box) __attribute__((warn_unused_result));

#endif
