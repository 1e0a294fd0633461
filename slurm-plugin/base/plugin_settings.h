// SPDX-License-Identifier: GPL-2.0-or-later
// The settings that all plugins and rgpu-slurm-sync share: /etc/rgpu/slurm.conf on every node.
#ifndef RGPU_SLURM_PLUGIN_SETTINGS_H
#define RGPU_SLURM_PLUGIN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/broker_client.h"
#include "common/service/config.h"

#define SLURM_SETTINGS_FILE "/etc/rgpu/slurm.conf"

// Members have the names of the settings, which slurm_settings_table describes. Durations are in
// microseconds. Strings are owned by the structure; slurm_settings_clear frees them.
struct slurm_settings {
    char *cluster;
    char *broker, *broker_key, *munge_socket, *broker_user;
    uint64_t acquire_wait, interactive_wait, interactive_hold, release_wait;
    char *library, *ticket_dir;
    int ranks, lost_gpus, impossible;
    uint64_t lost_after;
    char **gpus_partitions;
    bool count;
    uint64_t interval;
    char *controller; // HOST:PORT of this cluster's slurmctld; NULL: unknown. No setting
};

// Values of `ranks`, `impossible` and `lost_gpus`, in the order of their words in the file.
enum { RANKS_ALL, RANKS_LOCAL };
enum { IMPOSSIBLE_REFUSE, IMPOSSIBLE_HOLD };
enum lost_gpus { LOST_REQUEUE, LOST_END, LOST_NOTIFY };

extern const struct config_option slurm_settings_table[];

// Reads the settings from the file that the environment variable RGPU_SLURM_CONF names, otherwise
// from SLURM_SETTINGS_FILE. Without that file, the defaults apply. Returns 0, or -errno after
// logging; then there is nothing to clear.
int slurm_settings_load(struct slurm_settings *settings) __attribute__((warn_unused_result));
// Adds values of Slurm's configuration: its ClusterName, unless the settings name the cluster, and
// HOST and PORT of slurmctld. HOST may be NULL. Returns 0 or -ENOMEM.
int slurm_settings_identify(struct slurm_settings *settings, const char *cluster, const char *host,
                            unsigned port) __attribute__((warn_unused_result));
void slurm_settings_clear(struct slurm_settings *settings);

// Opens a client of the broker in the settings, like broker_client_open. Each call of the client
// takes `timeout_ms` milliseconds at most.
int slurm_settings_open(const struct slurm_settings *settings, unsigned timeout_ms,
                        struct broker_client **client) __attribute__((warn_unused_result));

#endif
