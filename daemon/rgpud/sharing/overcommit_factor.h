// SPDX-License-Identifier: BSD-3-Clause
// The setting `overcommit`: the factor by which the memory that the broker promises to leases may
// exceed the memory of a GPU.
#ifndef RGPU_DAEMON_OVERCOMMIT_FACTOR_H
#define RGPU_DAEMON_OVERCOMMIT_FACTOR_H

#include "daemon/rgpud/box/box.h"

// Returns the percentage of a GPU's memory that the broker may promise, 100 to 10000; 100 means no
// overcommit. ORDINAL is the GPU's index in the driver, from 0.
unsigned overcommit_percent(const struct box_settings *settings, uint32_t ordinal);
// Returns the bytes of a GPU's memory that the broker must not promise to any lease, because the
// driver may need them in addition to restore a suspended lease. Returns 0 without overcommit.
uint64_t overcommit_reserve(const struct box *box, const struct box_device *device);
// Checks the setting. Returns 0, or -EINVAL after logging the invalid entry.
int overcommit_settings_check(const struct box *box) __attribute__((warn_unused_result));

#endif
