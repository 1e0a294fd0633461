// SPDX-License-Identifier: BSD-3-Clause
// Derives programs, driver and users of a box's processes from the settings. rgpud and rgpu-spawner
// both use this file, so that orders need not name them.
#ifndef RGPU_DAEMON_PROGRAMS_H
#define RGPU_DAEMON_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "daemon/rgpud/box/box_settings.h"

struct worker_users {
    uid_t first, last; // 0: processes run as the user of the process that starts them
};

// Find the worker program and the driver library. SOFTWARE selects the software GPU.
void programs_worker(const struct box_settings *settings, char *path, size_t size);
void programs_driver(const struct box_settings *settings, bool software, char *path, size_t size);
// Finds the control program of MPS.
void programs_mps_control(const struct box_settings *settings, bool software, char *path,
                          size_t size);
// Finds a program of rgpu: beside the running one, or in ../libexec/rgpu.
void programs_own(const char *name, char *path, size_t size);
// Returns the box's name: the setting `name`, or the host name.
void programs_box_name(const struct box_settings *settings, char *name, size_t size);

// Parses the setting worker_uids; "none" gives zeros. Returns 0, or -EINVAL after logging.
int programs_users(const struct box_settings *settings, struct worker_users *out)
    __attribute__((warn_unused_result));
// Returns the user of a GPU's MPS daemon and its clients, from the end of the range; 0 if the range
// is too small.
uid_t programs_mps_user(const struct worker_users *users, uint32_t ordinal);
// Returns true if this process may change its user and signal processes of other users.
bool programs_may_change_users(void);

// Sets the environment variables that all processes of a box inherit. Returns 0 or -ENOMEM.
int programs_environment(const char *box_name, bool software, unsigned gpus)
    __attribute__((warn_unused_result));
// Starts rgpu-spawner as a child, with the settings in ARGV and CONFIG. Returns 0 and the socket
// for orders, or -errno.
int programs_run_spawner(bool standalone, int argc, char **argv, const char *config, int *out)
    __attribute__((warn_unused_result));

#endif
