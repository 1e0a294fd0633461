// SPDX-License-Identifier: BSD-3-Clause
// Failures to start a device's workers, and pauses between starts. refill.c starts workers.
#ifndef RGPU_DAEMON_WARM_POOL_H
#define RGPU_DAEMON_WARM_POOL_H

#include "daemon/rgpud/box/box.h"

// Returns the pool of a device; DEVICE NULL: of the first worker, which reports the devices.
struct warm_pool *warm_pool_of(struct box *box, struct box_device *device);
// Counts a failed start and begins a pause, which grows with consecutive failures. box_changed() is
// called after the pause.
void warm_pool_start_failed(struct box *box, struct box_device *device, const char *reason);
// Returns true during the pause after a failed start.
bool warm_pool_pauses(const struct warm_pool *pool);
// Returns true if starts have failed so often that clients should not wait for a worker.
bool warm_pool_is_broken(const struct warm_pool *pool);
void warm_pool_free(struct warm_pool *pool);

#endif
