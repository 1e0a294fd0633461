// SPDX-License-Identifier: GPL-2.0-or-later
// The threads that count inside slurmctld, and what submissions need of the counts.
#include "slurm-plugin/counts/licenses.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/scope.h"
#include "slurm-plugin/base/slurm_headers.h"

#include "common/base/clock.h"
#include "slurm-plugin/base/job_lease.h"
#include "slurm-plugin/base/license_entries.h"
#include "slurm-plugin/counts/job_licenses.h"
#include "slurm-plugin/counts/preempt.h"
#include "slurm-plugin/counts/scheduled_jobs.h"
#include "slurm-plugin/counts/wanted_classes.h"

enum {
    CALL_TIMEOUT_MS = 5000,
    SUBMIT_TIMEOUT_MS = 200, // slurmctld is held for so long
    WATCH_SECONDS = 1,
    ROUND_PAUSE_MS = 50
};

static struct slurm_settings settings;
static pthread_t counter, watcher;
static bool running;
static atomic_bool stopping;
static atomic_bool away; // the broker
static atomic_ullong known;

// Under `lock`: a round is due.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t due = PTHREAD_COND_INITIALIZER;
static bool is_due;

static void licenses_pause_for(long milliseconds)
{
    struct timespec pause = {.tv_sec = milliseconds / 1000,
                             .tv_nsec = milliseconds % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

static void ask_for_round(void)
{
    SCOPED_LOCK(&lock);
    is_due = true;
    pthread_cond_signal(&due);
}

// Until something has changed, or as long as the settings say.
static void await_round(void)
{
    uint64_t until = clock_ns() + settings.interval * 1000;

    SCOPED_LOCK(&lock);
    while (!is_due && !atomic_load(&stopping) && clock_wait_until(&due, &lock, until) == 0) {
    }
    is_due = false;
}

// ---- the threads ----

// Queries the broker's capacity and, in the same request, the leases to preempt for the first
// waiting job.
static int licenses_look(struct broker_client *client, struct count *count)
{
    json_t *question, *answer;
    int error;
    bool preempts;

    error = lease_claim_keys(client, &settings);
    if (error)
        return error;
    wanted_copy(count);
    scheduled_jobs_collect(count);
    question = count_question(&settings, count);
    preempts = preempt_ask(&settings, question);
    error = broker_client_call(client, "POST", "/v1/capacity", question, &answer);
    json_decref(question);
    if (error)
        return error;
    if (preempts)
        preempt_answered(&settings, answer);
    error = count_answer(&settings, answer, count);
    json_decref(answer);
    return error;
}

static void licenses_take_over(struct count *count)
{
    bool more;

    if (!job_licenses_apply(count, &more))
        ask_for_round();
    atomic_store(&known, job_licenses_at_most("rgpu", count->known));
    if (more)
        schedule(false);
}

static void *count_for_ever(void *argument)
{
    struct count *count = calloc(1, sizeof(*count));
    struct broker_client *client = NULL;
    bool reported = false;
    int error = slurm_settings_open(&settings, CALL_TIMEOUT_MS, &client);

    while (count && client && !atomic_load(&stopping) && !job_licenses_keep(count))
        licenses_pause_for(ROUND_PAUSE_MS);
    while (count && client && !atomic_load(&stopping)) {
        if (!error)
            error = licenses_look(client, count);
        if (error)
            job_licenses_keep(count);
        else
            preempt_resume(client, count);
        if (!error)
            licenses_take_over(count);
        if (!!error != reported)
            info("job_submit/rgpu: %s",
                 error ? broker_client_error(client) : "the broker answers again");
        reported = !!error;
        atomic_store(&away, reported);
        error = 0;
        count_clear(count);
        licenses_pause_for(ROUND_PAUSE_MS);
        await_round();
    }
    broker_client_close(&client);
    free(count);
    return NULL;
}

// Has the other thread look when something has happened in the pool.
static void *watch_for_ever(void *argument)
{
    struct broker_client *client = NULL;
    json_int_t last = -1;
    char path[96];
    json_t *answer;
    int error = slurm_settings_open(&settings, CALL_TIMEOUT_MS, &client);

    while (client && !atomic_load(&stopping)) {
        snprintf(path, sizeof(path), "/v1/events?after=%lld&wait=%d&limit=1", (long long)last,
                 WATCH_SECONDS);
        if (!error)
            error = broker_client_call(client, "GET", path, NULL, &answer);
        if (error) {
            licenses_pause_for(WATCH_SECONDS * 1000);
            last = -1;
            error = 0;
            continue;
        }
        if (json_integer_value(json_object_get(answer, "last")) != last)
            ask_for_round();
        last = json_integer_value(json_object_get(answer, "last"));
        json_decref(answer);
        licenses_pause_for(ROUND_PAUSE_MS); // what happens together is one round
    }
    broker_client_close(&client);
    return NULL;
}

// Signals are for slurmctld's own threads.
static bool licenses_start_thread(pthread_t *thread, void *(*run)(void *))
{
    sigset_t all, old;
    int result;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    result = pthread_create(thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return result == 0;
}

void licenses_start(void)
{
    if (running || slurm_settings_load(&settings) < 0 || identify_cluster(&settings) < 0)
        return;
    if (!settings.count)
        return;
    atomic_store(&stopping, false);
    wanted_start();
    running = licenses_start_thread(&counter, count_for_ever);
    if (running && !licenses_start_thread(&watcher, watch_for_ever))
        fatal("job_submit/rgpu: no thread can be started");
    if (!running)
        error("job_submit/rgpu: no thread can be started: GPUs are not counted");
}

void licenses_stop(void)
{
    if (running) {
        atomic_store(&stopping, true);
        ask_for_round();
        pthread_join(counter, NULL);
        pthread_join(watcher, NULL);
        running = false;
        wanted_stop();
    }
    slurm_settings_clear(&settings);
}

// ---- for submissions ----

static const char *licenses_read_refusal(const json_t *answer)
{
    static _Thread_local char why[600];
    const json_t *request = json_array_get(json_object_get(answer, "requests"), 0);

    if (json_integer_value(json_object_get(answer, "known")) == 0 ||
        !json_is_false(json_object_get(request, "ever")))
        return NULL;
    snprintf(why, sizeof(why),
             "rgpu: no GPUs of this pool could ever serve the job, drained and absent ones "
             "included: %s",
             lease_text(request, "why"));
    return why;
}

const char *licenses_impossible(const struct gpu_request *request, uint32_t nodes)
{
    struct broker_client *client = NULL;
    json_t *question, *answer = NULL;
    char name[GPU_CLASS_MAX];
    const char *why = NULL;

    gpu_request_class(request, nodes, name);
    if (!running || settings.impossible != IMPOSSIBLE_REFUSE || atomic_load(&away) || !*name ||
        wanted_has(name))
        return NULL;
    question = json_pack("{s:s, s:[o], s:i}", "key_prefix", "-", "requests",
                         gpu_request_json(request, nodes), "limit", 1);
    if (question && slurm_settings_open(&settings, SUBMIT_TIMEOUT_MS, &client) == 0 &&
        broker_client_call(client, "POST", "/v1/capacity", question, &answer) == 0)
        why = licenses_read_refusal(answer);
    json_decref(answer);
    json_decref(question);
    broker_client_close(&client);
    return why;
}

const char *licenses_want(const struct gpu_request *request, uint32_t nodes, uint32_t owner)
{
    char name[GPU_CLASS_MAX];
    const char *why;
    bool is_new;

    gpu_request_class(request, nodes, name);
    if (!license_entries_all())
        return NULL;
    if (running)
        ask_for_round();
    if (!*name)
        return NULL;
    why = running ? wanted_refusal(name, owner) : NULL;
    if (why)
        return why;
    if (running)
        wanted_add(request, nodes, owner, &is_new);
    // Until it is counted, the licence has a total of 0. Without a count it must not hinder.
    if (!license_entry_find(license_entries_all(), name))
        license_entry_add(license_entries_all(), name, running ? 0 : INT32_MAX);
    return NULL;
}

void licenses_admit(const char *licenses)
{
    char *copy = xstrdup(licenses), *position = NULL;

    for (char *entry = strtok_r(copy, ",", &position); running && entry;
         entry = strtok_r(NULL, ",", &position)) {
        char *colon = strchr(entry, ':');
        uint32_t count = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 1;
        licenses_t *license;
        if (colon)
            *colon = '\0';
        license = license_entry_find(license_entries_all(), entry);
        if (license && license->total < count)
            license->total = count;
    }
    xfree(copy);
    if (running)
        ask_for_round();
}

uint64_t licenses_known(void)
{
    return atomic_load(&known);
}

static bool has_gpus_partition(const char *name, size_t size)
{
    for (char **partition = settings.gpus_partitions; partition && *partition; partition++)
        if (strlen(*partition) == size && !strncmp(*partition, name, size))
            return true;
    return false;
}

bool licenses_gpus_are_remote(const char *partitions)
{
    size_t size;

    if (!partitions || !*partitions)
        return false;
    for (; *partitions; partitions += size + (partitions[size] == ',')) {
        size = strcspn(partitions, ",");
        if (!has_gpus_partition(partitions, size))
            return false;
    }
    return true;
}
