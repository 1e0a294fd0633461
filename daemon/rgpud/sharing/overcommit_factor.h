// SPDX-License-Identifier: BSD-3-Clause
// The setting `overcommit`.
#ifndef RGPU_DAEMON_OVERCOMMIT_FACTOR_H
#define RGPU_DAEMON_OVERCOMMIT_FACTOR_H

#include "daemon/rgpud/box/box.h"

// Returns how many percent of a GPU's memory the broker may promise; 100: no overcommit. ORDINAL is
// the driver's number.
unsigned overcommit_percent(const struct box_settings *settings, uint32_t ordinal);
// Returns the bytes of a GPU that are never promised, because the driver needs them to restore a
// lease.
uint64_t overcommit_reserve(const struct box *box, const struct box_device *device);
// Checks the setting. Returns 0 or -EINVAL after logging.
int overcommit_settings_check(const struct box *box) __attribute__((warn_unused_result));

#endif
