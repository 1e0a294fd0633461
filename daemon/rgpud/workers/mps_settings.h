// SPDX-License-Identifier: BSD-3-Clause
// Settings that select the GPUs with MPS, and the users of their daemons.
#ifndef RGPU_DAEMON_MPS_SETTINGS_H
#define RGPU_DAEMON_MPS_SETTINGS_H

#include "daemon/rgpud/box/box.h"

// Returns true if the settings select the GPU with this number.
bool mps_is_set(const struct box_settings *settings, uint32_t ordinal);
// Returns true if USER is reserved for MPS daemons and their clients. Other workers must not run as
// this user, because it may send orders to the daemon.
bool mps_has_user(const struct box_settings *settings, const struct worker_users *users,
                  uid_t user);
// Checks the settings. Returns 0 or -EINVAL after logging.
int mps_settings_check(const struct box *box) __attribute__((warn_unused_result));
// Returns the user of the GPU's daemon and clients; 0: the spawner's user.
uid_t mps_user(const struct box *box, uint32_t ordinal);

#endif
