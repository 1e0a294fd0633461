// SPDX-License-Identifier: GPL-2.0-or-later
// The leases of Slurm's jobs.
#include "slurm-plugin/base/job_lease.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

// AWAY_SECONDS: how long the end of a job waits for a broker that is being restarted.
enum { CALL_TIMEOUT_MS = 5000, WAIT_STEP_SECONDS = 2, AWAY_SECONDS = 3 };
#define CLAIM_NS 10000000000ull

// ---- keys ----

static const char *cluster_of(const struct slurm_settings *settings)
{
    return settings->cluster && *settings->cluster ? settings->cluster : "slurm";
}

void lease_key(const struct slurm_settings *settings, uint32_t job, time_t start, char *key)
{
    snprintf(key, LEASE_KEY_MAX, "slurm/%.100s/%" PRIu32 "/%lld", cluster_of(settings), job,
             (long long)start);
}

void lease_key_prefix(const struct slurm_settings *settings, uint32_t job, char *prefix)
{
    int size = snprintf(prefix, LEASE_KEY_MAX, "slurm/%.100s/", cluster_of(settings));

    if (job)
        snprintf(prefix + size, (size_t)(LEASE_KEY_MAX - size), "%" PRIu32 "/", job);
}

bool lease_key_parse(const struct slurm_settings *settings, const char *key, uint32_t *job,
                     time_t *start)
{
    char prefix[LEASE_KEY_MAX], *end;
    unsigned long number;

    lease_key_prefix(settings, 0, prefix);
    if (!key || strncmp(key, prefix, strlen(prefix)))
        return false;
    key += strlen(prefix);
    number = strtoul(key, &end, 10);
    if (end == key || *end != '/' || number == 0 || number > UINT32_MAX)
        return false;
    key = end + 1;
    *job = (uint32_t)number;
    *start = (time_t)strtoll(key, &end, 10);
    return end != key && !*end;
}

// A claim counts for a minute at the broker, which keeps it over a restart. This process repeats it
// well before that, and before its first word after a longer silence.
int lease_claim_keys(struct broker_client *client, const struct slurm_settings *settings)
{
    static atomic_ullong claimed; // when, as clock_ns
    unsigned long long now = clock_ns(), last = atomic_load(&claimed);
    char prefix[LEASE_KEY_MAX];
    json_t *body;
    int error;

    if (!settings->controller || (last && now - last < CLAIM_NS))
        return 0;
    lease_key_prefix(settings, 0, prefix);
    body = json_pack("{s:s, s:s}", "key_prefix", prefix, "scheduler", settings->controller);
    error = broker_client_call(client, "POST", "/v1/schedulers", body, NULL);
    json_decref(body);
    atomic_store(&claimed, error ? 0 : now);
    return error == -ENOENT ? 0 : error; // an older broker keeps no names
}

// ---- waiting ----

static bool unreachable(int error)
{
    return error == -ECONNREFUSED || error == -EHOSTUNREACH || error == -ETIMEDOUT ||
           error == -EPROTO || error == -EREMOTEIO;
}

static void job_lease_pause_briefly(void)
{
    struct timespec pause = {.tv_nsec = 200000000};

    nanosleep(&pause, NULL);
}

static bool job_lease_go_on(double until, const atomic_bool *stop)
{
    return clock_seconds() < until && !atomic_load(stop);
}

// ---- acquire ----

static void job_lease_describe(const struct job_lease *job, const char *key, char *name,
                               size_t size, struct broker_acquire *acquire)
{
    snprintf(name, size, "slurm job %" PRIu32, job->job);
    *acquire = (struct broker_acquire){
        .key = key,
        .job = name,
        .account = job->account,
        .owner = job->owner,
        .queue = true,
    };
    gpu_request_describe(&job->request, job->nodes, acquire);
    acquire->near = job->near;
}

static bool still_wanted(const struct job_lease *job, double until, const atomic_bool *stop)
{
    return job_lease_go_on(until, stop) && (!job->wanted || job->wanted(job));
}

// A broker that is being restarted is waited for as GPUs are.
static int begin_acquire(struct broker_client *client, const struct slurm_settings *settings,
                         const struct job_lease *job, const struct broker_acquire *acquire,
                         double until, const atomic_bool *stop, struct broker_lease *lease)
{
    for (;;) {
        int error = lease_claim_keys(client, settings);
        if (!error)
            error = broker_client_acquire(client, acquire, lease);
        if (!error || !unreachable(error) || !still_wanted(job, until, stop))
            return error;
        job_lease_pause_briefly();
    }
}

static int job_lease_await_grant(struct broker_client *client, const struct job_lease *job,
                                 double until, const atomic_bool *stop, struct broker_lease *lease)
{
    char id[sizeof(lease->id)];
    int error = 0;

    strcpy(id, lease->id);
    while (!strcmp(lease->state, "queued") && still_wanted(job, until, stop)) {
        broker_lease_clear(lease);
        error = broker_client_await(client, id, WAIT_STEP_SECONDS, lease);
        if (error) {
            if (!unreachable(error))
                break;
            strcpy(lease->state, "queued");
            job_lease_pause_briefly();
        }
    }
    if (!error && strcmp(lease->state, "granted"))
        error = strcmp(lease->state, "queued") ? -ESTALE : -EAGAIN;
    return error;
}

static const char *job_lease_model_of(const json_t *gpus, size_t i)
{
    const char *model = json_string_value(json_object_get(json_array_get(gpus, i), "model"));

    return model ? model : "";
}

// Adds each model of the GPUs once, as "type=NVIDIA_H200". A blank would end the word.
static int job_lease_add_types(const json_t *gpus, char *text, int used, size_t size)
{
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        const char *model = job_lease_model_of(gpus, i);
        size_t first = 0;

        while (strcmp(job_lease_model_of(gpus, first), model) != 0)
            first++;
        if (first < i || !*model || used + strlen(" type=") + strlen(model) >= size)
            continue;
        used += snprintf(text + used, size - (size_t)used, " type=");
        for (const char *at = model; *at; at++)
            text[used++] = isalnum((unsigned char)*at) || strchr("-.+", *at) ? *at : '_';
        text[used] = '\0';
    }
    return used;
}

// The text that scontrol and sacct show for a job that has its GPUs.
static void job_lease_describe_gpus(const struct job_lease *job, const json_t *gpus, char *text,
                                    size_t size)
{
    const json_t *gpu;
    int used;
    size_t i;

    used = snprintf(text, size, "rgpu: %s", job->request.shared ? "shared" : "exclusive");
    if (job->request.memory)
        used +=
            snprintf(text + used, size - (size_t)used, " %" PRIu64 "M", job->request.memory >> 20);
    json_array_foreach(gpus, i, gpu)
        if ((size_t)used < size)
            used += snprintf(text + used, size - (size_t)used, " %s:%lld",
                             json_string_value(json_object_get(gpu, "box")),
                             (long long)json_integer_value(json_object_get(gpu, "index")));
    if ((size_t)used < size)
        used = job_lease_add_types(gpus, text, used, size);
    if (*job->request.constraint && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " constraint=%s", job->request.constraint);
}

int lease_acquire(const struct slurm_settings *settings, const struct job_lease *job,
                  const atomic_bool *stop, char *why, size_t size)
{
    uint64_t wait = job->can_requeue ? settings->acquire_wait : settings->interactive_wait;
    double until = clock_seconds() + (double)wait * 1e-6;
    char key[LEASE_KEY_MAX], name[64];
    struct broker_acquire acquire;
    struct broker_lease lease = {0};
    struct broker_client *client;
    int error = slurm_settings_open(settings, CALL_TIMEOUT_MS, &client);

    if (error == -ENOMEM)
        return error;
    lease_key(settings, job->job, job->start, key);
    job_lease_describe(job, key, name, sizeof(name), &acquire);
    if (!error)
        error = begin_acquire(client, settings, job, &acquire, until, stop, &lease);
    if (!error)
        error = job_lease_await_grant(client, job, until, stop, &lease);
    if (!error)
        job_lease_describe_gpus(job, lease.gpus, why, size);
    if (error == -EAGAIN)
        snprintf(why, size, "rgpu: no GPUs of the pool fit this job now; it will be tried again");
    else if (error)
        snprintf(why, size, "rgpu: %s", broker_client_error(client));
    // The lease waits in the broker's queue or was granted just now, and would be unused. If this
    // fails, rgpu-slurm-sync finds a lease without a job. A process that is being stopped leaves
    // it: the same start of the job is taken up again.
    if (error && error != -E2BIG && error != -EINVAL && error != -EEXIST && !atomic_load(stop) &&
        broker_client_release_key(client, key) < 0)
        snprintf(why, size, "rgpu: %s", broker_client_error(client));
    broker_lease_clear(&lease);
    broker_client_close(&client);
    return error;
}

// ---- release ----

// Releases the lease, and waits for its end. Releasing again is success, and says how far the end
// has come.
static int release_and_wait(struct broker_client *client, const char *key, char *state, size_t size)
{
    json_t *body = json_pack("{s:s, s:i}", "key", key, "wait", WAIT_STEP_SECONDS), *answer = NULL;
    int error = broker_client_call(client, "POST", "/v1/leases/release", body, &answer);

    json_decref(body);
    if (error)
        return error;
    snprintf(state, size, "%s", lease_text(json_object_get(answer, "lease"), "state"));
    json_decref(answer);
    return 0;
}

int lease_release(const struct slurm_settings *settings, const struct job_lease *job,
                  const atomic_bool *stop, char *why, size_t size)
{
    double until = clock_seconds() + (double)settings->release_wait * 1e-6;
    double away = clock_seconds() + AWAY_SECONDS;
    char key[LEASE_KEY_MAX], state[32] = "";
    struct broker_client *client;
    int error = slurm_settings_open(settings, CALL_TIMEOUT_MS, &client);

    if (error == -ENOMEM)
        return error;
    lease_key(settings, job->job, job->start, key);
    while (!error) {
        error = release_and_wait(client, key, state, sizeof(state));
        if (!error && !strcmp(state, "ended"))
            break;
        if (!error)
            away = clock_seconds() + AWAY_SECONDS;
        if ((error && (!unreachable(error) || clock_seconds() > away)) ||
            !job_lease_go_on(until, stop)) {
            error = error ? error : -EINPROGRESS;
            break;
        }
        error = 0;
        job_lease_pause_briefly();
    }
    if (error)
        snprintf(why, size, "%s",
                 error == -EINPROGRESS ? "a box has not confirmed the end yet"
                                       : broker_client_error(client));
    broker_client_close(&client);
    return error;
}

// ---- reading leases, and orders to them ----

const char *lease_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

int lease_order(struct broker_client *client, const char *id, const char *order)
{
    char path[160];

    snprintf(path, sizeof(path), "/v1/leases/%.100s/%s", id, order);
    return broker_client_call(client, "POST", path, NULL, NULL);
}

int lease_return(const struct slurm_settings *settings, uint32_t job)
{
    struct broker_client *client;
    struct step_lease lease;
    int error = slurm_settings_open(settings, CALL_TIMEOUT_MS, &client);

    if (error == -ENOMEM)
        return error;
    if (!error)
        error = lease_find(client, settings, job, &lease);
    if (!error)
        error = lease_order(client, lease.id, "resume");
    broker_client_close(&client);
    return error;
}

// ---- tickets ----

static void keep_uuids(const json_t *gpus, struct step_lease *lease)
{
    memset(lease->uuids, 0, sizeof(lease->uuids));
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        const json_t *gpu = json_array_get(gpus, i);
        json_int_t place = json_integer_value(json_object_get(gpu, "ordinal"));
        if (place >= 0 && place < LEASE_UUIDS_MAX)
            snprintf(lease->uuids[place], LEASE_UUID_MAX, "%s", lease_text(gpu, "gpu"));
    }
}

int lease_find(struct broker_client *client, const struct slurm_settings *settings, uint32_t job,
               struct step_lease *lease)
{
    char prefix[LEASE_KEY_MAX], path[LEASE_KEY_MAX + 64];
    json_t *answer, *newest;
    const char *id;
    int error;

    lease_key_prefix(settings, job, prefix);
    snprintf(path, sizeof(path), "/v1/leases?state=granted&key_prefix=%s", prefix);
    error = broker_client_call(client, "GET", path, NULL, &answer);
    if (error)
        return error;
    newest = json_object_get(answer, "leases");
    newest = json_array_get(newest, json_array_size(newest) - 1);
    id = json_string_value(json_object_get(newest, "id"));
    if (id) {
        snprintf(lease->id, sizeof(lease->id), "%s", id);
        lease->gpus = (uint32_t)json_array_size(json_object_get(newest, "gpus"));
        keep_uuids(json_object_get(newest, "gpus"), lease);
    } else {
        error = broker_client_explain(client, -ENOENT, "the broker knows no lease of this job");
    }
    json_decref(answer);
    return error;
}

int lease_ticket(struct broker_client *client, const struct step_lease *lease, const uint32_t *gpus,
                 uint32_t count, char **bundle)
{
    json_t *list = json_array(), *body;

    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(gpus[i]));
    body = json_pack("{s:s, s:o}", "lease", lease->id, "gpus", list);
    return broker_client_ask_ticket(client, body, bundle);
}
