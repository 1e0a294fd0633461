// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs' processes share them by MPS, and by whose means.
#ifndef RGPU_DAEMON_MPS_SETTINGS_H
#define RGPU_DAEMON_MPS_SETTINGS_H

#include "daemon/box.h"

// Whether processes of the GPU of this number share it by MPS.
bool mps_is_set(const struct box_settings *settings, uint32_t ordinal);
// Returns true if the user is one of MPS daemons and their clients, by the settings alone. No other worker gets it, as it may
// give orders to the daemon.
bool mps_has_user(const struct box_settings *settings, const struct worker_users *users,
                  uid_t user);
// -EINVAL after logging.
int mps_settings_check(const struct box *box) __attribute__((warn_unused_result));
// The user of the GPU's daemon and of its clients; 0: who we are.
uid_t mps_user(const struct box *box, uint32_t ordinal);

#endif
