// SPDX-License-Identifier: BSD-3-Clause
// The setting of how much more of a GPU may be promised than there is.
#ifndef RGPU_DAEMON_OVERCOMMIT_FACTOR_H
#define RGPU_DAEMON_OVERCOMMIT_FACTOR_H

#include "daemon/box.h"

// Percent of a GPU's memory that the broker may promise, by the driver's number; 100: no more than there is.
unsigned overcommit_percent(const struct box_settings *settings, uint32_t ordinal);
// Bytes that are promised to nobody, as a lease comes back only where they are left.
uint64_t overcommit_reserve(const struct box *box, const struct box_device *device);
int overcommit_settings_check(const struct box *box) __attribute__((warn_unused_result));

#endif
