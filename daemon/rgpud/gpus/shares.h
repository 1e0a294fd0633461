// SPDX-License-Identifier: BSD-3-Clause
// Enforces time shares: workers of a lease with a debt (share_debt.h) execute no requests.
#ifndef RGPU_DAEMON_SHARES_H
#define RGPU_DAEMON_SHARES_H

#include "daemon/rgpud/box/box.h"

// Updates the debts after the figures were read. NOTHING_KNOWN: they were not, so no lease is held
// back.
void shares_review(struct box *box, bool nothing_known);
// Returns the number of sessions that are held back on a device; DEVICE NULL: on the box.
unsigned shares_held(const struct box *box, const struct box_device *device);

#endif
