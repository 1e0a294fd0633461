// SPDX-License-Identifier: GPL-2.0-or-later
// rgpu-slurm-sync keeps broker and Slurm in agreement, from the host of slurmctld: leases whose job
// is gone are released. It is the last resort for the end of leases, because slurmctld may die
// without notice. It also adds the busy time of GPUs to Slurm's records of jobs.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "common/net/json_list.h"
#include "common/service/program.h"
#include "slurm-plugin/base/job_lease.h"
#include "slurm-plugin/base/plugin_settings.h"
#include "slurm-plugin/sync/sync_busy.h"
#include "slurm-plugin/sync/sync_lost.h"
#include "slurm-plugin/sync/sync_plan.h"
#include "slurm-plugin/sync/sync_slurm.h"

enum { CALL_TIMEOUT_MS = 10000 };

struct sync {
    struct slurm_settings settings;
    struct broker_client *client;
    json_t *suspects; // orphans of the last round
    struct lost_jobs lost;
    struct busy_jobs busy;
    char trouble[400]; // the last reported error
};

// Says once what goes wrong, and that it is over.
static void sync_tell(struct sync *sync, const char *what, const char *text)
{
    char line[sizeof(sync->trouble)];

    snprintf(line, sizeof(line), "%s: %s", what, text);
    if (strcmp(line, sync->trouble))
        log_warn("%s", line);
    strcpy(sync->trouble, line);
}

static void tell_well(struct sync *sync)
{
    if (*sync->trouble)
        log_info("broker and slurmctld answer again");
    *sync->trouble = '\0';
}

// ---- leases without a job ----

// Twice in a row without a job: one look may have fallen between two steps of slurmctld.
static int release_orphans(struct sync *sync, json_t *orphans)
{
    const json_t *entry;
    size_t i;
    int error = 0;

    json_array_foreach(orphans, i, entry) {
        const char *id = json_string_value(entry);
        if (!json_list_has(sync->suspects, id))
            continue;
        log_info("lease=%s has no job any more: released", id);
        error = broker_client_release(sync->client, id);
        if (error)
            break;
    }
    json_decref(sync->suspects);
    sync->suspects = orphans;
    return error;
}

// ---- leases of suspended jobs ----

// Once at each round for as long as it is not so: a kernel that has to end first may have ended.
static int follow_suspensions(struct sync *sync, json_t *orders)
{
    const json_t *entry;
    size_t i;
    int error = 0;

    json_array_foreach(orders, i, entry) {
        const char *id = json_string_value(json_object_get(entry, "lease"));
        const char *order = json_string_value(json_object_get(entry, "order"));
        log_info("lease=%s follows its job: %s", id, order);
        error = lease_order(sync->client, id, order);
        if (error)
            break;
    }
    json_decref(orders);
    return error;
}

// ---- a round ----

static int sync_fetch(struct sync *sync, const char *path, const char *name, json_t **list)
{
    json_t *answer;
    int error = broker_client_call(sync->client, "GET", path, NULL, &answer);

    if (error)
        return error;
    *list = json_incref(json_object_get(answer, name));
    json_decref(answer);
    return *list ? 0 : -EPROTO;
}

// The leases are read before the jobs: each of them had its job by then.
static int sync_compare(struct sync *sync, const json_t *leases)
{
    struct job_table jobs = {0};
    int error = sync_slurm_jobs(&jobs);

    if (error) {
        sync_tell(sync, "slurmctld", sync_slurm_error());
        return error;
    }
    error = release_orphans(sync, plan_orphans(&sync->settings, leases, &jobs));
    if (!error)
        error = follow_suspensions(sync, plan_suspensions(&sync->settings, leases, &jobs));
    if (!error)
        error = lost_jobs_round(&sync->lost, &sync->settings, sync->client, leases, &jobs);
    if (error)
        sync_tell(sync, "broker", broker_client_error(sync->client));
    free(jobs.jobs);
    return error;
}

static int run_round(struct sync *sync)
{
    json_t *leases = NULL;
    int error = 0;

    if (!sync->settings.controller && (error = sync_slurm_identify(&sync->settings))) {
        sync_tell(sync, "slurmctld", sync_slurm_error());
        return error;
    }
    if (!sync->client)
        error = slurm_settings_open(&sync->settings, CALL_TIMEOUT_MS, &sync->client);
    if (!error)
        error = lease_claim_keys(sync->client, &sync->settings);
    if (!error)
        error = sync_fetch(sync, "/v1/leases?key_prefix=slurm/", "leases", &leases);
    if (error)
        sync_tell(sync, "broker",
                  sync->client ? broker_client_error(sync->client) : strerror(-error));
    else
        error = sync_compare(sync, leases);
    if (!error && (error = busy_jobs_round(&sync->busy, &sync->settings, sync->client)))
        sync_tell(sync, "broker", broker_client_error(sync->client));
    // While one side cannot be seen, nothing is concluded from the other.
    if (error) {
        json_decref(sync->suspects);
        sync->suspects = NULL;
    }
    json_decref(leases);
    return error;
}

static int sync_run(struct sync *sync)
{
    struct timespec interval = {
        .tv_sec = (time_t)(sync->settings.interval / 1000000),
        .tv_nsec = (long)(sync->settings.interval % 1000000) * 1000,
    };
    bool ready = false;
    sigset_t ends;
    int error;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    sync_slurm_start();
    do {
        error = run_round(sync);
        if (!error)
            tell_well(sync);
        if (!error && !ready) {
            printf("rgpu-slurm-sync is ready\n");
            fflush(stdout);
            sd_notify(0, "READY=1");
            ready = true;
        }
        sd_notify(0, "WATCHDOG=1");
    } while (sigtimedwait(&ends, NULL, &interval) < 0);
    return 0;
}

static const struct program_about about = {
    .name = "rgpu-slurm-sync",
    .usage =
        "usage: rgpu-slurm-sync\n"
        "       rgpu-slurm-sync --check-config    all that is wrong with the settings; status 1\n"
        "                                         where something is\n"
        "       rgpu-slurm-sync --print-config    the sample file: every option, its default\n"
        "       rgpu-slurm-sync --version\n\n"
        "Settings are read from " SLURM_SETTINGS_FILE ", or from the file that RGPU_SLURM_CONF "
        "names.\n",
    .settings = slurm_settings_table,
};

static int check_client(const char *setting, const struct broker_client_options *options)
{
    struct broker_client *client = NULL;
    int error = broker_client_open(options, &client);

    if (error)
        config_complain(slurm_settings_table, "slurm", setting, "%s", broker_client_error(client));
    broker_client_close(&client);
    return error;
}

// Checks the settings without a query; reports both errors if both are wrong.
static int check_settings(const struct slurm_settings *settings)
{
    const struct broker_client_options address = {.address = settings->broker, .key_file = ""};
    const struct broker_client_options key = {.address = "localhost",
                                              .key_file = settings->broker_key};
    int parts[] = {check_client("broker", &address), check_client("broker_key", &key)};

    if (!parts[0] && !parts[1])
        printf("rgpu-slurm-sync: the settings are in order\n");
    return parts[0] ? parts[0] : parts[1];
}

int main(int argc, char **argv)
{
    struct sync sync = {0};
    bool check;
    int error;

    descriptor_keep_standard();
    log_init("rgpu-slurm-sync", LOG_LEVEL_INFO);
    log_level_from_environment();
    signal(SIGPIPE, SIG_IGN);
    if (program_answer(&about, argc, argv))
        return program_finish(about.name, 0);
    check = program_take_flag(&argc, argv, "--check-config");
    if (argc > 1) {
        log_error("not understood: %s; see --help", argv[1]);
        return 2;
    }
    config_keep_places();
    if (slurm_settings_load(&sync.settings) < 0)
        return 1;
    error = check ? check_settings(&sync.settings) : sync_run(&sync);
    json_decref(sync.suspects);
    lost_jobs_clear(&sync.lost);
    busy_jobs_clear(&sync.busy);
    broker_client_close(&sync.client);
    slurm_settings_clear(&sync.settings);
    return error ? 1 : 0;
}
