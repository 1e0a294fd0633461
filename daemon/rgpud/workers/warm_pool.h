// SPDX-License-Identifier: BSD-3-Clause
// Tracks the starts of a device's workers: their number, the consecutive failures, and the earliest
// time of the next start. refill.c starts them.
#ifndef RGPU_DAEMON_WARM_POOL_H
#define RGPU_DAEMON_WARM_POOL_H

#include "daemon/rgpud/box/box.h"

// Returns the pool of a device. NULL means the pool of the first worker, which reports the devices.
struct warm_pool *warm_pool_of(struct box *box, struct box_device *device);
// Counts a failed start and begins a pause, which grows with each consecutive failure.
// box_changed() follows the pause.
void warm_pool_start_failed(struct box *box, struct box_device *device, const char *reason);
// Returns true during the pause after a failed start.
bool warm_pool_pauses(const struct warm_pool *pool);
// Returns true if workers of the device have failed so often that clients should not wait for one.
bool warm_pool_is_broken(const struct warm_pool *pool);
void warm_pool_free(struct warm_pool *pool);

#endif
