// SPDX-License-Identifier: BSD-3-Clause
// Reads the settings that select the GPUs shared by MPS and the users of their daemons.
#ifndef RGPU_DAEMON_MPS_SETTINGS_H
#define RGPU_DAEMON_MPS_SETTINGS_H

#include "daemon/rgpud/box/box.h"

// Returns true if processes share the GPU with this number by MPS.
bool mps_is_set(const struct box_settings *settings, uint32_t ordinal);
// Returns true if the settings reserve this user for MPS daemons and their clients. No other worker
// gets this user, since it can send orders to the daemon.
bool mps_has_user(const struct box_settings *settings, const struct worker_users *users,
                  uid_t user);
// Checks the settings. Returns 0 or -EINVAL after logging.
int mps_settings_check(const struct box *box) __attribute__((warn_unused_result));
// Returns the user of the GPU's daemon and of its clients; 0 means the spawner's user.
uid_t mps_user(const struct box *box, uint32_t ordinal);

#endif
