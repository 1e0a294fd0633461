// SPDX-License-Identifier: GPL-2.0-or-later
// The settings of the plugins and of rgpu-slurm-sync.
#include "slurm-plugin/base/plugin_settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/service/config_retired.h"

static const char *const ranks_words[] = {"all", "local", NULL};
static const char *const impossible_words[] = {"refuse", "hold", NULL};
static const char *const lost_gpus_words[] = {"requeue", "end", "notify", NULL};

static const struct config_retired retired[] = {
    CONFIG_RETIRED("sync", "reservation",
                   "totals of licences follow the pool (count in section [jobs])"),
    CONFIG_RETIRED_END,
};

#define S struct slurm_settings

const struct config_option slurm_settings_table[] = {
    CONFIG_STRING(
        "slurm", "cluster", S, cluster, "",
        "name of this Slurm cluster in leases, where clusters of one broker have the same "
        "ClusterName; empty: ClusterName"),
    CONFIG_STRING("slurm", "broker", S, broker, "",
                  "host:port or unix:/path of the broker; empty: as in /etc/rgpu/broker"),
    CONFIG_STRING("slurm", "broker_key", S, broker_key, "",
                  "shared key (mode 0600) where there is no munge between here and the broker"),
    CONFIG_STRING("slurm", "munge_socket", S, munge_socket, "",
                  "munged's socket where it is not at its usual place"),
    CONFIG_STRING("slurm", "broker_user", S, broker_user, "",
                  "user (name or number) that the broker runs as; empty: as in /etc/rgpu/broker"),
    CONFIG_DURATION("jobs", "acquire_wait", S, acquire_wait, "10s",
                    "how long a batch job holds its nodes for GPUs before it is requeued",
                    .zero = true),
    CONFIG_DURATION("jobs", "interactive_wait", S, interactive_wait, "60s",
                    "the same for jobs that cannot be requeued; they end when it is over",
                    .zero = true),
    CONFIG_DURATION("jobs", "interactive_hold", S, interactive_hold, "10ms",
                    "how long slurmctld may be held at the start of an srun or salloc; 0: never",
                    .zero = true),
    CONFIG_DURATION("jobs", "release_wait", S, release_wait, "30s",
                    "how long a job stays completing until boxes have ended its sessions",
                    .zero = true),
    CONFIG_STRING("jobs", "library", S, library, "",
                  "directory of libcuda.so.1, put in front of LD_LIBRARY_PATH; empty: left alone"),
    CONFIG_STRING("jobs", "ticket_dir", S, ticket_dir, "/run/rgpu-slurm",
                  "directory of the tickets on a node, on a file system in memory"),
    CONFIG_ENUM("jobs", "ranks", S, ranks, "all", ranks_words,
                "GPUs of a step that each of its ranks sees: all, or one each by local rank"),
    CONFIG_ENUM("jobs", "lost_gpus", S, lost_gpus, "requeue", lost_gpus_words,
                "what happens to a running job whose GPUs are taken away by revoke, drain --force "
                "or gone: requeue (what cannot be requeued is ended), end, or notify only"),
    CONFIG_DURATION("jobs", "lost_after", S, lost_after, "0",
                    "how long a box may be away before lost_gpus holds for the jobs that have GPUs "
                    "there; 0: for ever, as their sessions may go on beside a cut line",
                    .zero = true),
    CONFIG_ENUM(
        "jobs", "impossible", S, impossible, "refuse", impossible_words,
        "what happens at submission to a job that all boxes together, drained and absent ones "
        "included, could not serve: refuse, or hold until its user changes it"),
    CONFIG_LIST(
        "jobs", "gpus_partitions", S, gpus_partitions, "",
        "partitions in which --gpus, --gpus-per-node, --gpus-per-task and --gres=gpu:N of a "
        "batch job ask for remote GPUs"),
    CONFIG_BOOL("jobs", "count", S, count, "yes",
                "whether slurmctld's licences follow the pool; no: they stay as in slurm.conf"),
    CONFIG_DURATION("sync", "interval", S, interval, "3s",
                    "how often leases, jobs and licences are compared at least"),
    CONFIG_END_RETIRED(retired),
};

int slurm_settings_load(struct slurm_settings *settings)
{
    const char *path = getenv("RGPU_SLURM_CONF");
    int error;

    memset(settings, 0, sizeof(*settings));
    error = config_defaults(slurm_settings_table, settings);
    if (!error && path && *path)
        error = config_load(slurm_settings_table, path, settings);
    else if (!error && access(SLURM_SETTINGS_FILE, F_OK) == 0)
        error = config_load(slurm_settings_table, SLURM_SETTINGS_FILE, settings);
    if (error)
        slurm_settings_clear(settings);
    return error;
}

int slurm_settings_identify(struct slurm_settings *settings, const char *cluster, const char *host,
                            unsigned port)
{
    if (!settings->cluster || !*settings->cluster) {
        free(settings->cluster);
        settings->cluster = strdup(cluster && *cluster ? cluster : "slurm");
    }
    free(settings->controller);
    settings->controller = NULL;
    if (host && asprintf(&settings->controller, "%s:%u", host, port) < 0)
        settings->controller = NULL;
    return settings->cluster && (!host || settings->controller) ? 0 : -ENOMEM;
}

void slurm_settings_clear(struct slurm_settings *settings)
{
    free(settings->controller);
    config_clear(slurm_settings_table, settings);
    memset(settings, 0, sizeof(*settings));
}

int slurm_settings_open(const struct slurm_settings *settings, unsigned timeout_ms,
                        struct broker_client **client)
{
    struct broker_client_options options = {
        .address = settings->broker,
        .key_file = settings->broker_key,
        .munge_socket = settings->munge_socket,
        .broker_user = settings->broker_user,
        .timeout_ms = timeout_ms,
    };

    return broker_client_open(&options, client);
}
