// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_DAEMON_START_CHECK_H
#define RGPU_DAEMON_START_CHECK_H

#include "daemon/rgpud/box/box.h"

// Checks everything that can be checked without starting or opening anything. Sets devices, keys,
// name and paths of BOX. Returns 0, or -errno after it has logged every error with the place of its
// setting.
int start_check(struct box *box) __attribute__((warn_unused_result));

#endif
