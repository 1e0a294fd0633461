// SPDX-License-Identifier: GPL-2.0-or-later
// The settings that all parts of rgpu in Slurm share: /etc/rgpu/slurm.conf on every node.
#ifndef RGPU_SLURM_PLUGIN_SETTINGS_H
#define RGPU_SLURM_PLUGIN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/broker_client.h"
#include "common/service/config.h"

#define SLURM_SETTINGS_FILE "/etc/rgpu/slurm.conf"

struct slurm_settings {
    char *cluster;
    char *broker, *broker_key, *munge_socket, *broker_user;
    uint64_t acquire_wait, interactive_wait, interactive_hold, release_wait;
    char *library, *ticket_dir;
    int ranks, lost_gpus, impossible;
    bool count;
    uint64_t interval;
    char *controller; // of this cluster, as HOST:PORT; NULL: unknown. Not of the file
};

enum { RANKS_ALL, RANKS_LOCAL };
enum { IMPOSSIBLE_REFUSE, IMPOSSIBLE_HOLD };
enum lost_gpus { LOST_REQUEUE, LOST_END, LOST_NOTIFY };

extern const struct config_option slurm_settings_table[];

// From the file that RGPU_SLURM_CONF names in the daemon's own environment, else from /etc; without
// a file the defaults hold. -errno after logging.
int slurm_settings_load(struct slurm_settings *settings) __attribute__((warn_unused_result));
// Adds what Slurm's configuration says: its name is the cluster's unless the settings have another.
// HOST may be NULL. Returns 0 or -ENOMEM.
int slurm_settings_identify(struct slurm_settings *settings, const char *cluster, const char *host,
                            unsigned port) __attribute__((warn_unused_result));
void slurm_settings_clear(struct slurm_settings *settings);

// As broker_client_open; `timeout_ms` of each call.
int slurm_settings_open(const struct slurm_settings *settings, unsigned timeout_ms,
                        struct broker_client **client) __attribute__((warn_unused_result));

#endif
