// SPDX-License-Identifier: GPL-2.0-or-later
// The counts of rgpu's licences inside slurmctld. A reservation could take what is not there out of
// Slurm's own count, but backfill plans no job that waits for a licence which is reserved; so the
// totals themselves are set. slurmctld reads and replaces its list of licences with the
// configuration locked, and takes and returns them with the jobs locked: with both, an entry may
// be changed in place.
#include "slurm-plugin/licenses.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/scope.h"
#include "slurm-plugin/slurm_headers.h"

#include "common/base/clock.h"
#include "slurm-plugin/count.h"
#include "slurm-plugin/preempt.h"

// Its name differs between versions.
extern slurm_list license_list, cluster_license_list;
#pragma weak license_list
#pragma weak cluster_license_list

enum {
    CALL_TIMEOUT_MS = 5000,
    WATCH_SECONDS = 1,
    UNUSED_SECONDS = 10,
    REMOVED_MAX = 256,
    ROUND_PAUSE_MS = 50
};

static struct slurm_settings settings;
static pthread_t counter, watcher;
static bool running;
static atomic_bool stopping;
static atomic_ullong known;

// Under `lock`: the classes, and whether a round is due.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t due = PTHREAD_COND_INITIALIZER;
static bool is_due;
static struct count wanted;

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

// ---- slurmctld's licences, with configuration and jobs locked ----

static slurm_list all_licenses(void)
{
    return &license_list ? license_list : &cluster_license_list ? cluster_license_list : NULL;
}

static int licenses_has_name(void *entry, void *name)
{
    return !xstrcmp(((licenses_t *)entry)->name, name);
}

static licenses_t *find_license(slurm_list list, const char *name)
{
    return list ? list_find_first(list, licenses_has_name, (void *)name) : NULL;
}

static licenses_t *add_license(slurm_list list, const char *name, uint32_t total)
{
    licenses_t *entry = xmalloc(sizeof(*entry));

    entry->name = xstrdup(name);
    entry->total = total;
    list_append(list, entry);
    return entry;
}

// slurmctld answers queries about licences without a lock that this plugin could take. So a licence
// that was removed from the list stays in memory until many others have been removed after it.
static void remove_license(slurm_list list, const char *name)
{
    static licenses_t *removed[REMOVED_MAX];
    static size_t next;
    licenses_t *entry = list_remove_first(list, licenses_has_name, (void *)name);

    if (removed[next])
        license_free_rec(removed[next]);
    removed[next] = entry;
    next = (next + 1) % REMOVED_MAX;
    last_license_update = time(NULL);
}

// True: there are more than before.
static bool set_license(const char *name, uint64_t total, uint64_t used)
{
    licenses_t *entry = find_license(all_licenses(), name);
    bool more;

    if (!entry)
        return false;
    if (total > INT32_MAX)
        total = INT32_MAX;
    if (total < used) // GPUs are gone, or a job that runs again waits for those that it had
        total = used;
    more = total > entry->total || used < entry->used;
    // A slurmctld that was reconfigured while jobs completed counts wrongly from then on.
    if (entry->used != used)
        info("job_submit/rgpu: licence=%s used=%u, but jobs hold %llu: corrected", name,
             entry->used, (unsigned long long)used);
    if (entry->total != total || entry->used != used)
        last_license_update = time(NULL);
    entry->total = (uint32_t)total;
    entry->used = (uint32_t)used;
    return more;
}

static void keep_license(const char *name, uint64_t used)
{
    const licenses_t *entry = find_license(all_licenses(), name);

    if (entry)
        set_license(name, entry->total > used ? entry->total : used, used);
}

// The number in slurm.conf is the most that this cluster may have of the pool; 0: all of it.
static uint64_t licenses_at_most(const char *name, uint64_t total)
{
    uint64_t limit = count_configured(slurm_conf.licenses, name);

    return limit && limit < total ? limit : total;
}

// ---- jobs ----

struct round {
    struct count *count;
    uint64_t used_gpus, used_memory;
    uint64_t used[COUNT_CLASSES_MAX];
};

struct holding {
    struct round *round;
    struct count_class *class;
    bool ours;
};

// A job that has not ended names the class.
static void note_job(const char *name)
{
    struct count_class *class;

    SCOPED_LOCK(&lock);
    class = count_find(&wanted, name);
    if (class)
        class->wanted = clock_seconds();
}

static int add_used(void *x, void *argument)
{
    const licenses_t *entry = x;
    struct holding *holding = argument;
    struct round *round = holding->round;
    struct count_class *class;

    if (!licenses_name_ours(entry->name))
        return 0;
    holding->ours = true;
    class = count_find(round->count, entry->name);
    if (!strcmp(entry->name, "rgpu"))
        round->used_gpus += entry->total;
    else if (!strcmp(entry->name, "rgpu_mem"))
        round->used_memory += entry->total;
    else if (class) {
        round->used[class - round->count->classes] += entry->total;
        holding->class = class;
        note_job(entry->name);
    }
    return 0;
}

static void licenses_add_holder(job_record_t *job, struct round *round)
{
    struct holding holding = {.round = round};

    list_for_each(job->license_list, add_used, &holding);
    if (holding.ours)
        count_holder(round->count, job->job_id, job->start_time, preempt_lends(job), holding.class);
}

static uint32_t nodes_of(const job_record_t *job)
{
    return job->details && job->details->min_nodes ? job->details->min_nodes : 1;
}

static void give_license(job_record_t *job, const char *name, uint32_t count)
{
    if (!job->license_list)
        job->license_list = list_create(license_free_rec);
    add_license(job->license_list, name, count);
    xstrfmtcat(job->licenses, "%s%s:%u", job->licenses ? "," : "", name, count);
}

// Counts the class of a job that waits. slurmctld drops licences that slurm.conf does not name from
// its jobs when it starts.
static void restore_class(job_record_t *job, struct round *round)
{
    struct gpu_request request;
    struct count_class *class;
    const char *why;
    char name[GPU_CLASS_MAX];

    if (job->spank_job_env_size == 0 || !job->license_list ||
        gpu_request_parse(job->tres_per_node, job->spank_job_env, job->spank_job_env_size, &request,
                          &why) < 0)
        return;
    gpu_request_class(&request, nodes_of(job), name);
    if (!*name)
        return;
    {
        SCOPED_LOCK(&lock);
        bool is_new = !count_find(&wanted, name);

        class = count_want(&wanted, &request, nodes_of(job), clock_seconds());
        if (class && is_new)
            class->owner = job->user_id;
        is_due |= is_new;
    }
    if (!class)
        return;
    if (!find_license(all_licenses(), name))
        add_license(all_licenses(), name, 0);
    if (!find_license(job->license_list, name))
        give_license(job, name, 1);
}

// A part of a heterogeneous job whose licences could not be given at its submission.
static void count_part(job_record_t *job)
{
    struct gpu_request request;
    const char *why;
    char ours[64], *position = NULL;

    if (!job->het_job_id || job->het_job_offset == 0 || licenses_name_ours(job->licenses) ||
        gpu_request_parse(job->tres_per_node, job->spank_job_env, job->spank_job_env_size, &request,
                          &why) < 0 ||
        request.per_node == 0 ||
        gpu_request_licenses(&request, nodes_of(job), ours, sizeof(ours)) < 0)
        return;
    for (char *entry = strtok_r(ours, ",", &position); entry;
         entry = strtok_r(NULL, ",", &position)) {
        char *colon = strchr(entry, ':');
        *colon = '\0';
        give_license(job, entry, (uint32_t)strtoul(colon + 1, NULL, 10));
    }
}

// Its user may change and release it.
static void licenses_hold(job_record_t *job, const char *why)
{
    info("job_submit/rgpu: %pJ is held: %s", job, why);
    job->priority = 0;
    job->state_reason = WAIT_HELD_USER;
    xfree(job->state_desc);
    job->state_desc = xstrdup(why);
    if (!job->system_comment || !xstrncmp(job->system_comment, "rgpu: ", 6)) {
        xfree(job->system_comment);
        job->system_comment = xstrdup(why);
    }
    last_job_update = time(NULL);
}

struct waiting {
    const struct round *round;
    bool never;
    uint64_t gpus; // whole ones that it asks for
};

static int look_at_entry(void *x, void *argument)
{
    const licenses_t *entry = x;
    struct waiting *waiting = argument;
    const struct count_class *answered = count_find(waiting->round->count, entry->name);

    if (!strcmp(entry->name, "rgpu"))
        waiting->gpus = entry->total;
    waiting->never |= answered && !answered->possible;
    return 0;
}

static void look_at_waiting(job_record_t *job, struct round *round)
{
    struct waiting waiting = {.round = round};
    uint64_t there = licenses_at_most("rgpu", round->count->known);
    char why[160];

    restore_class(job, round);
    list_for_each(job->license_list, look_at_entry, &waiting);
    if (there && waiting.gpus > there) {
        snprintf(why, sizeof(why), "rgpu: the job asks for %llu GPUs, and the pool has %llu",
                 (unsigned long long)waiting.gpus, (unsigned long long)there);
        licenses_hold(job, why);
    } else if (there && waiting.never) {
        licenses_hold(job, "rgpu: no set of GPUs in this pool could ever satisfy the request");
    }
}

static int visit_job(void *x, void *argument)
{
    struct round *round = argument;
    job_record_t *job = x;

    if (IS_JOB_PENDING(job))
        count_part(job);
    if (!job->license_list)
        return 0;
    if (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job) || IS_JOB_COMPLETING(job)) {
        licenses_add_holder(job, round);
    } else if (IS_JOB_PENDING(job) && job->priority) {
        look_at_waiting(job, round);
    } else if (IS_JOB_PENDING(job)) {
        restore_class(job, round);
    }
    return 0;
}

// All jobs have been visited: a class that none of them names goes, with its licence.
static void drop_unused(const struct count *count)
{
    SCOPED_LOCK(&lock);
    count_forget(&wanted, clock_seconds() - UNUSED_SECONDS);
    for (size_t i = 0; i < count->class_count; i++) {
        const char *name = count->classes[i].name;
        const licenses_t *entry = find_license(all_licenses(), name);

        if (entry && entry->used == 0 && !count_find(&wanted, name))
            remove_license(all_licenses(), name);
    }
}

static bool licenses_apply(struct count *count)
{
    slurmctld_lock_t both = {.conf = READ_LOCK, .job = WRITE_LOCK};
    struct round round = {.count = count};
    bool more;

    lock_slurmctld(both);
    if (!job_list || !all_licenses()) { // it is starting, or counts no licences
        unlock_slurmctld(both);
        return false;
    }
    list_for_each(job_list, visit_job, &round);
    more = set_license("rgpu", licenses_at_most("rgpu", count->gpus + count->held_gpus),
                       round.used_gpus);
    more |= set_license("rgpu_mem", licenses_at_most("rgpu_mem", count_units(count)),
                        round.used_memory);
    for (size_t i = 0; i < count->class_count; i++)
        more |= set_license(count->classes[i].name, count->classes[i].now + count->classes[i].held,
                            round.used[i]);
    drop_unused(count);
    atomic_store(&known, licenses_at_most("rgpu", count->known));
    unlock_slurmctld(both);
    return more;
}

// A slurmctld that was started anew has no more licences than slurm.conf says, though its jobs hold
// some: backfill would take them from nothing, and count wrongly from then on. Until the broker
// says what there is, there is what jobs hold.
static bool keep_what_is_held(struct count *count)
{
    slurmctld_lock_t both = {.conf = READ_LOCK, .job = WRITE_LOCK};
    struct round round = {.count = count};
    bool loaded;

    lock_slurmctld(both);
    loaded = job_list && all_licenses();
    if (loaded) {
        list_for_each(job_list, visit_job, &round);
        keep_license("rgpu", round.used_gpus);
        keep_license("rgpu_mem", round.used_memory);
    }
    unlock_slurmctld(both);
    return loaded;
}

// ---- the threads ----

// Copies the current classes for the next query.
static void copy_wanted(struct count *count)
{
    SCOPED_LOCK(&lock);
    memcpy(count->classes, wanted.classes, sizeof(count->classes));
    count->class_count = wanted.class_count;
    for (size_t i = 0; i < count->class_count; i++)
        json_incref(count->classes[i].request);
}

// Queries the broker's capacity and, in the same request, the leases to preempt for the first
// waiting job.
static int licenses_look(struct broker_client *client, struct count *count)
{
    json_t *question, *answer;
    int error;
    bool preempts;

    copy_wanted(count);
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

static void *count_for_ever(void *argument)
{
    struct count *count = calloc(1, sizeof(*count));
    struct broker_client *client = NULL;
    bool reported = false;
    int error = slurm_settings_open(&settings, CALL_TIMEOUT_MS, &client);

    while (count && client && !atomic_load(&stopping) && !keep_what_is_held(count))
        licenses_pause_for(ROUND_PAUSE_MS);
    while (count && client && !atomic_load(&stopping)) {
        if (!error)
            error = licenses_look(client, count);
        if (error)
            keep_what_is_held(count);
        else
            preempt_resume(client, count);
        if (!error && licenses_apply(count))
            schedule(false);
        if (!!error != reported)
            info("job_submit/rgpu: %s",
                 error ? broker_client_error(client) : "the broker answers again");
        reported = !!error;
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
    if (running || slurm_settings_load(&settings) < 0)
        return;
    if (!settings.count) {
        slurm_settings_clear(&settings);
        return;
    }
    atomic_store(&stopping, false);
    running = licenses_start_thread(&counter, count_for_ever);
    if (running && !licenses_start_thread(&watcher, watch_for_ever))
        fatal("job_submit/rgpu: no thread can be started");
    if (!running)
        error("job_submit/rgpu: no thread can be started: GPUs are not counted");
}

void licenses_stop(void)
{
    if (!running)
        return;
    atomic_store(&stopping, true);
    ask_for_round();
    pthread_join(counter, NULL);
    pthread_join(watcher, NULL);
    running = false;
    count_clear(&wanted);
    slurm_settings_clear(&settings);
}

// ---- for submissions ----

const char *licenses_want(const struct gpu_request *request, uint32_t nodes, uint32_t owner)
{
    char name[GPU_CLASS_MAX];
    struct count_class *class;
    const char *why = NULL;
    bool known_before;

    gpu_request_class(request, nodes, name);
    if (!*name || !all_licenses())
        return NULL;
    SCOPED_LOCK(&lock);
    known_before = count_find(&wanted, name);
    if (running && !known_before)
        why = count_refusal(&wanted, owner);
    if (why)
        return why;
    class = running ? count_want(&wanted, request, nodes, clock_seconds()) : NULL;
    if (class && !known_before)
        class->owner = owner;
    is_due = true;
    pthread_cond_signal(&due);
    // Until it is counted, the licence has a total of 0. Without rgpu-slurm-sync, which counts, it
    // must not hinder.
    if (!find_license(all_licenses(), name))
        add_license(all_licenses(), name, running ? 0 : INT32_MAX);
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
        license = find_license(all_licenses(), entry);
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
