// SPDX-License-Identifier: BSD-3-Clause
// Leases that are kept to a share of their GPUs' time: their workers take no requests while they owe others some.
#ifndef RGPU_DAEMON_SHARES_H
#define RGPU_DAEMON_SHARES_H

#include "daemon/box.h"

// The GPUs' figures have been taken, GPU time is counted. NOTHING_KNOWN: nobody is held back by what is not known.
void shares_review(struct box *box, bool nothing_known);
// Sessions that are held back on the device at the moment; NULL: on any.
unsigned shares_held(const struct box *box, const struct box_device *device);

#endif
