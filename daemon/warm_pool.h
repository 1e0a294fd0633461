// SPDX-License-Identifier: BSD-3-Clause
// How the starts of a device's workers go: how many there are, how often in a row they failed, and when the next one
// may be tried. refill.c starts them.
#ifndef RGPU_DAEMON_WARM_POOL_H
#define RGPU_DAEMON_WARM_POOL_H

#include "daemon/box.h"

// That of a device; NULL: that of the first worker, which shows the devices.
struct warm_pool *warm_pool_of(struct box *box, struct box_device *device);
// Counts a failure, and pauses, the longer the more there were in a row; the box has changed when that is over.
void warm_pool_start_failed(struct box *box, struct box_device *device, const char *reason);
bool warm_pool_pauses(const struct warm_pool *pool);
// True where workers of the device have failed so often that a client should not wait for one.
bool warm_pool_is_broken(const struct warm_pool *pool);
void warm_pool_free(struct warm_pool *pool);

#endif
