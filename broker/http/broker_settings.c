// SPDX-License-Identifier: BSD-3-Clause
#include "broker/http/broker_settings.h"

#include <errno.h>
#include <string.h>

#include "common/service/config_retired.h"
#include "common/base/log.h"

static const char *const protection_words[] = {"authenticate", "privacy", NULL};
static const char *const munge_words[] = {"auto", "yes", "no", NULL};
static const char *const synchronous_words[] = {"full", "normal", NULL};

static const struct config_retired retired[] = {
    CONFIG_RETIRED("auth", "boxes", "each box proves who it is by its own key"),
    CONFIG_RETIRED_END,
};

#define S struct broker_settings

const struct config_option settings_table[] = {
    CONFIG_LIST("broker", "listen", S, listen, "127.0.0.1:7310",
                "addresses that boxes, schedulers and users connect to; port 0 picks a free one"),
    CONFIG_STRING("broker", "socket", S, socket, "/run/rgpu-broker/broker.sock",
                  "unix socket for programs on this host; empty for none"),
    CONFIG_INT("broker", "max_connections", S, max_connections, "16384", 16, 1000000,
               "connections at once; more make strangers who were there longest go"),
    CONFIG_INT("broker", "max_connections_per_address", S, max_connections_per_address, "256", 1,
               1000000,
               "of one address, until it is known who asks, or (on the unix socket, but for root) "
               "of one user"),
    CONFIG_STRING("broker", "state_dir", S, state_dir, "/var/lib/rgpu-broker",
                  "directory of the database; on a local disk, for this program alone"),
    CONFIG_BOOL("broker", "standby", S, standby, "no",
                "wait while another broker has state_dir, then take over; see docs/admin/pool.md"),
    CONFIG_LIST("broker", "replication", S, replication, "",
                "URLs of etcd, through which brokers on several hosts have one pool; see "
                "docs/admin/pool.md"),
    CONFIG_STRING("broker", "replication_ca", S, replication_ca, "",
                  "certificates (PEM) that etcd's is checked against; empty: the system's"),
    CONFIG_STRING("broker", "replication_cert", S, replication_cert, "",
                  "certificate (PEM) of this broker for etcd"),
    CONFIG_STRING("broker", "replication_key", S, replication_key, "", "its private key (PEM)"),
    CONFIG_ENUM("broker", "synchronous", S, synchronous, "full", synchronous_words,
                "full: a grant survives a power cut; normal: faster, it survives a crash"),
    CONFIG_STRING("broker", "log_level", S, log_level, "info", "error, warn, info, debug or trace",
                  .reloadable = true),
    CONFIG_STRING("tickets", "cluster_key", S, cluster_key, "/etc/rgpu/cluster.key",
                  "key file (mode 0600) from which the keys of all boxes are derived"),
    CONFIG_DURATION("tickets", "lifetime", S, ticket_lifetime, "168h",
                    "how long a ticket opens sessions; no shorter than the longest job",
                    .reloadable = true),
    CONFIG_DURATION("tickets", "max_ticket_lifetime", S, max_ticket_lifetime, "744h",
                    "longest that anybody may ask a ticket for", .reloadable = true),
    CONFIG_ENUM("tickets", "protection", S, protection, "authenticate", protection_words,
                "the least that sessions of any lease get; privacy: TCP data are encrypted too",
                .reloadable = true),
    CONFIG_ENUM("auth", "munge", S, munge, "auto", munge_words,
                "take munge credentials over TCP; auto: where munged runs"),
    CONFIG_STRING("auth", "munge_socket", S, munge_socket, "",
                  "munged's socket where it is not at its usual place"),
    CONFIG_STRING("auth", "key_file", S, key_file, "",
                  "shared keys (mode 0600) for members without munge; a key's id is its role",
                  .reloadable = true),
    CONFIG_DURATION("auth", "clock_skew", S, clock_skew, "60s",
                    "tolerated difference of clocks in requests signed with a shared key",
                    .zero = true),
    CONFIG_LIST("auth", "admins", S, admins, "root", "users who may do everything",
                .reloadable = true),
    CONFIG_LIST("auth", "schedulers", S, schedulers, "slurm",
                "users who may take leases for others", .reloadable = true),
    CONFIG_BOOL("auth", "anonymous_read", S, anonymous_read, "no",
                "show boxes, GPUs, leases and events to anybody who can connect",
                .reloadable = true),
    CONFIG_BOOL("auth", "user_leases", S, user_leases, "no",
                "let users take leases for themselves, beside the scheduler", .reloadable = true),
    CONFIG_DURATION("pool", "heartbeat", S, heartbeat, "5s",
                    "how often a box reports when nothing happens", .reloadable = true),
    CONFIG_DURATION("pool", "away_after", S, away_after, "20s",
                    "silence after which a box counts as away and its leases as lost",
                    .reloadable = true),
    CONFIG_DURATION("pool", "max_lifetime", S, max_lifetime, "0",
                    "longest lifetime that a lease may ask for; 0: no limit", .zero = true,
                    .reloadable = true),
    CONFIG_SIZE("pool", "max_bandwidth_per_lease", S, max_bandwidth_per_lease, "none",
                "bytes per second that a lease may move over tcp, to each box and back",
                .word = "none", .reloadable = true),
    CONFIG_DURATION("pool", "history", S, history, "168h", "how long ended leases are kept",
                    .zero = true, .reloadable = true),
    CONFIG_INT("pool", "keep_events", S, keep_events, "100000", 100, 100000000,
               "events kept: that many of tickets and renewals, of leases, and of all else",
               .reloadable = true),
    CONFIG_END_RETIRED(retired),
};

static int broker_settings_refuse(const char *section, const char *name, const char *why)
{
    config_complain(settings_table, section, name, "%s", why);
    return -EINVAL;
}

// The log has all leases in it, so only a connection within the host may go without TLS.
static bool is_protected(const char *url)
{
    return !strncmp(url, "https://", 8) || !strncmp(url, "http://127.0.0.1:", 17);
}

static int check_replication(const struct broker_settings *settings)
{
    int err = 0;

    for (char **url = settings->replication; *url; url++)
        if (!is_protected(*url))
            err = broker_settings_refuse(
                "broker", "replication",
                "replication: addresses begin with https:// (http:// only at 127.0.0.1)");
    if (*settings->replication && settings->standby)
        err = broker_settings_refuse("broker", "standby",
                                     "standby is for a shared state_dir, and replication for one "
                                     "of each broker: set one of them");
    return err;
}

int settings_check(const struct broker_settings *settings)
{
    enum log_level level;
    int err = 0;

    if ((err = log_level_parse(settings->log_level ? settings->log_level : "info", &level)))
        config_complain(settings_table, "broker", "log_level", "log_level=%s is not a level",
                        settings->log_level);
    if (check_replication(settings))
        err = -EINVAL;
    if (settings->away_after / 2 < settings->heartbeat)
        err = broker_settings_refuse(
            "pool", "away_after",
            "away_after must be twice heartbeat or more: one late report and a box counts "
            "as away");
    if (settings->ticket_lifetime < 1000000)
        err = broker_settings_refuse("tickets", "lifetime",
                                     "[tickets] lifetime must be a second or more");
    if (settings->max_ticket_lifetime < settings->ticket_lifetime)
        err = broker_settings_refuse(
            "tickets", "max_ticket_lifetime",
            "max_ticket_lifetime must not be shorter than [tickets] lifetime");
    return err;
}
