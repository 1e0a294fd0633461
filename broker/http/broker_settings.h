// SPDX-License-Identifier: BSD-3-Clause
// Settings of the broker. The table in broker_settings.c declares each of them.
#ifndef RGPU_BROKER_SETTINGS_H
#define RGPU_BROKER_SETTINGS_H

#include "common/service/config.h"

enum munge_use { MUNGE_AUTO, MUNGE_YES, MUNGE_NO };

struct broker_settings {
    char **listen;
    char *socket, *state_dir, *cluster_key, *log_level;
    bool standby;
    char **replication, *replication_ca, *replication_cert, *replication_key;
    int64_t max_connections, max_connections_per_address;
    int synchronous; // 0: "full", 1: "normal" (see SQLite's pragma synchronous)
    int munge;
    char *munge_socket, *key_file;
    char **admins, **schedulers;
    uint64_t clock_skew;
    bool anonymous_read, user_leases;
    uint64_t heartbeat, away_after, ticket_lifetime, max_ticket_lifetime, max_lifetime, history;
    int protection; // required protection of connections to boxes; 0: authenticate, 1: privacy
    int64_t keep_events;
    uint64_t max_bandwidth_per_lease; // bytes per second; 0: any
};

extern const struct config_option settings_table[];

// Checks that the settings do not contradict each other. Logs each contradiction. Returns 0 or
// -EINVAL.
int settings_check(const struct broker_settings *settings) __attribute__((warn_unused_result));

#endif
