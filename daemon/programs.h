// SPDX-License-Identifier: BSD-3-Clause
// The programs, the driver and the users of a box's processes, as the settings name them. rgpud and rgpu-spawner share
// this file, so both come to the same result and none is named in an order.
#ifndef RGPU_DAEMON_PROGRAMS_H
#define RGPU_DAEMON_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "daemon/box_settings.h"

struct worker_users {
    uid_t first, last; // 0: processes keep the user of who starts them
};

void programs_worker(const struct box_settings *settings, char *path, size_t size);
void programs_driver(const struct box_settings *settings, bool software, char *path, size_t size);
// The control program of MPS.
void programs_mps_control(const struct box_settings *settings, bool software, char *path,
                          size_t size);
// A program of ours, from beside the running one or from ../libexec/rgpu.
void programs_own(const char *name, char *path, size_t size);
// The name of the box.
void programs_box_name(const struct box_settings *settings, char *name, size_t size);

// Reads worker_uids; "none" gives zeros. -EINVAL after logging.
int programs_users(const struct box_settings *settings, struct worker_users *out)
    __attribute__((warn_unused_result));
// The user of a GPU's MPS daemon and of its clients, counted from the end of the range; 0 if the range is too small.
uid_t programs_mps_user(const struct worker_users *users, uint32_t ordinal);
// Returns true if the process may change its user and signal others.
bool programs_may_change_users(void);

// Puts what the processes of a box need into the environment of this process, which they inherit. -ENOMEM.
int programs_environment(const char *box_name, bool software, unsigned gpus)
    __attribute__((warn_unused_result));

#endif
