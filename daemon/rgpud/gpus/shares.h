// SPDX-License-Identifier: BSD-3-Clause
// Limits leases to their share of GPU time. Workers of a lease with a debt take no requests.
#ifndef RGPU_DAEMON_SHARES_H
#define RGPU_DAEMON_SHARES_H

#include "daemon/rgpud/box/box.h"

// Settles the debts after a reading of the figures. If NOTHING_KNOWN is set, no lease is held back.
void shares_review(struct box *box, bool nothing_known);
// Returns the number of held-back sessions on the device; NULL means on any device.
unsigned shares_held(const struct box *box, const struct box_device *device);

#endif
