// SPDX-License-Identifier: GPL-2.0-or-later
// See job_licenses.h. slurmctld takes a job that needs more than a licence's total for one that can
// never run, and plans nothing for it. So a total is what there would be if no job held anything.
// What running jobs take of each class stands in their own lists of licences, and backfill reads
// nothing else: it plans waiting jobs for the ends of the running ones. The same lists say which
// jobs may start at once.
#include "slurm-plugin/job_licenses.h"

#include "common/base/clock.h"
#include "slurm-plugin/job_order.h"
#include "slurm-plugin/license_entries.h"
#include "slurm-plugin/preempt.h"
#include "slurm-plugin/wanted_classes.h"

// Returns true if there are more than before. A slurmctld that was reconfigured while jobs
// completed counts wrongly from then on.
static bool set_license(const char *name, uint64_t total, uint64_t used)
{
    const licenses_t *entry = license_entry_find(license_entries_all(), name);

    if (entry && entry->used < used && !gpu_is_class(name))
        info("job_submit/rgpu: licence=%s used=%u, but jobs hold %llu: corrected", name,
             entry->used, (unsigned long long)used);
    return license_entry_set(name, total, used);
}

// The broker has answered since slurmctld was started.
static bool has_answer;

static void keep_license(const char *name, uint64_t used)
{
    const licenses_t *entry = license_entry_find(license_entries_all(), name);

    if (entry)
        set_license(name, has_answer && entry->total > used ? entry->total : used, used);
}

// Newer versions of Slurm ignore licences of which slurm.conf has none.
static void job_licenses_report_missing(void)
{
    static bool reported;

    if (!reported && !license_entry_find(license_entries_all(), "rgpu"))
        error("job_submit/rgpu: no job gets remote GPUs: slurmctld has no licence \"rgpu\"; set "
              "Licenses in slurm.conf as \"rgpuctl slurm-config\" prints it");
    reported = true;
}

// The number in slurm.conf is the most that this cluster may have of the pool; 0: all of it.
uint64_t job_licenses_at_most(const char *name, uint64_t total)
{
    uint64_t limit = count_configured(slurm_conf.licenses, name);

    return limit && limit < total ? limit : total;
}

// ---- jobs ----

struct round {
    struct count *count;
    uint64_t used_gpus, used_memory;
    uint64_t used[COUNT_CLASSES_MAX];
    bool stale;                      // a job has had its lease since the question was asked
    bool again;                      // a class is new
    bool waiting[COUNT_CLASSES_MAX]; // jobs wait for the class
    bool returns; // a job whose lease has ended has its licences for some milliseconds more
    const job_record_t *first; // that waits
};

static int add_used(void *x, void *argument)
{
    const licenses_t *entry = x;
    struct round *round = argument;
    const struct count_class *class = count_find(round->count, entry->name);

    if (!strcmp(entry->name, "rgpu"))
        round->used_gpus += entry->total;
    else if (!strcmp(entry->name, "rgpu_mem"))
        round->used_memory += entry->total;
    else if (class)
        round->used[class - round->count->classes] += entry->total;
    return 0;
}

// Returns true for a class that no job has named for a while. Its licence is about to go.
static int is_forgotten(void *x, void *ignored)
{
    const licenses_t *entry = x;

    return gpu_is_class(entry->name) && !wanted_has(entry->name);
}

// A job that has its lease takes from each class what the broker says, until it ends; before, what
// its own request says.
static void take_by_lease(job_record_t *job, struct round *round)
{
    struct count *count = round->count;
    const struct count_job *asked = count_job_of(count, job->job_id, job->start_time);

    if (!count_lease_of(count, job->job_id, job->start_time))
        return;
    round->stale |= !asked;
    for (size_t i = 0; asked && i < count->class_count; i++)
        license_entry_take(job, count->classes[i].name, count_takes(count, asked, i));
    count_lent(count, job->job_id, job->start_time, preempt_lends(job));
}

static void licenses_add_holder(job_record_t *job, struct round *round)
{
    enum { RETURN_SECONDS = 5 };
    char own[GPU_CLASS_MAX];

    round->returns |= IS_JOB_COMPLETING(job) && time(NULL) <= job->end_time + RETURN_SECONDS &&
                      !count_lease_of(round->count, job->job_id, job->start_time);
    gpu_class_in(job->licenses, own);
    wanted_note(own);
    take_by_lease(job, round);
    list_delete_all(job->license_list, is_forgotten, NULL);
    list_for_each(job->license_list, add_used, round);
}

static void add_missing(const char *name)
{
    if (!license_entry_find(license_entries_all(), name))
        license_entry_add(license_entries_all(), name, 0);
}

static uint32_t nodes_of(const job_record_t *job)
{
    return job->details && job->details->min_nodes ? job->details->min_nodes : 1;
}

static void give_license(job_record_t *job, const char *name, uint32_t count)
{
    license_entry_take(job, name, count);
    xstrfmtcat(job->licenses, "%s%s:%u", job->licenses ? "," : "", name, count);
}

// Counts the class of a job that waits. slurmctld drops licences that slurm.conf does not name from
// its jobs when it starts, and earlier releases gave a class another name.
static void restore_class(job_record_t *job, struct round *round)
{
    struct gpu_request request;
    const char *why;
    char name[GPU_CLASS_MAX], own[GPU_CLASS_MAX], ours[GPU_LICENSES_MAX];
    bool is_new;

    if (job->spank_job_env_size == 0 || !job->license_list ||
        gpu_request_parse(job->tres_per_node, job->spank_job_env, job->spank_job_env_size, &request,
                          &why) < 0)
        return;
    gpu_request_class(&request, nodes_of(job), name);
    if (!*name || !wanted_add(&request, nodes_of(job), job->user_id, &is_new))
        return;
    round->again |= is_new;
    add_missing(name);
    gpu_class_in(job->licenses, own);
    if (strcmp(own, name) != 0 &&
        gpu_request_licenses(&request, nodes_of(job), ours, sizeof(ours)) == 0)
        (void)license_text_set(&job->licenses, ours);
}

static int is_class_of_others(void *x, void *own)
{
    const licenses_t *entry = x;

    return gpu_is_class(entry->name) && strcmp(entry->name, own) != 0;
}

// A job that waits asks for one of its own class, or for as many of any GPUs as it wants. A job
// that has run before still has what it took of all classes.
static void ask_for_own(job_record_t *job)
{
    const licenses_t *gpus = license_entry_find(job->license_list, "rgpu");
    char own[GPU_CLASS_MAX];

    gpu_class_in(job->licenses, own);
    if (!*own && gpus)
        strcpy(own, GPU_CLASS_ANY);
    if (!wanted_has(own)) // backfill ends slurmctld at a licence that is in no list but a job's
        *own = '\0';
    list_delete_all(job->license_list, is_class_of_others, own);
    if (*own)
        license_entry_take(job, own, strcmp(own, GPU_CLASS_ANY) != 0 ? 1 : gpus->total);
}

// A part of a heterogeneous job whose licences could not be given at its submission.
static void count_part(job_record_t *job)
{
    struct gpu_request request;
    const char *why;
    char ours[GPU_LICENSES_MAX], *position = NULL;

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
    uint64_t there = job_licenses_at_most("rgpu", round->count->known);
    char why[160];

    list_for_each(job->license_list, look_at_entry, &waiting);
    if (there && waiting.gpus > there) {
        snprintf(why, sizeof(why), "rgpu: the job asks for %llu GPUs, and the pool has %llu",
                 (unsigned long long)waiting.gpus, (unsigned long long)there);
        licenses_hold(job, why);
    } else if (there && waiting.never) {
        licenses_hold(job, "rgpu: no set of GPUs in this pool could ever satisfy the request");
    }
}

// Slurm keeps a requeued job back for as long as credentials of its start are valid, by preset two
// minutes. A job that was requeued because it got no GPUs has run nothing, and may start as soon as
// new credentials differ from the old ones. A later time is its user's.
static void bring_forward(job_record_t *job)
{
    enum { RETRY_SECONDS = 3, OF_USER_SECONDS = 1800 };
    time_t now = time(NULL), *begin = job->details ? &job->details->begin_time : NULL;

    if (!begin || *begin <= now + RETRY_SECONDS || *begin > now + OF_USER_SECONDS ||
        job->restart_cnt == 0 || xstrncmp(job->system_comment, "rgpu: ", 6) != 0)
        return;
    *begin = now + RETRY_SECONDS;
    last_job_update = now;
}

static int note_waiting(void *x, void *argument)
{
    struct round *round = argument;
    const struct count_class *class = count_find(round->count, ((licenses_t *)x)->name);

    if (class)
        round->waiting[class - round->count->classes] = true;
    return 0;
}

static void note_waiting_job(job_record_t *job, struct round *round)
{
    if (!round->first || job_order_before(job, round->first))
        round->first = job;
    list_for_each(job->license_list, note_waiting, round);
}

static int visit_job(void *x, void *argument)
{
    struct round *round = argument;
    job_record_t *job = x;

    if (IS_JOB_PENDING(job)) {
        license_take_back(job);
        count_part(job);
    }
    if (!job->license_list || !licenses_name_ours(job->licenses))
        return 0;
    if (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job) || IS_JOB_COMPLETING(job)) {
        licenses_add_holder(job, round);
    } else if (IS_JOB_PENDING(job)) {
        restore_class(job, round);
        ask_for_own(job);
        bring_forward(job);
        if (job_order_waits(job))
            note_waiting_job(job, round);
        if (job->priority)
            look_at_waiting(job, round);
    }
    return 0;
}

struct unused {
    char names[COUNT_CLASSES_MAX][GPU_CLASS_MAX];
    size_t count;
};

static int note_unused(void *x, void *argument)
{
    const licenses_t *entry = x;
    struct unused *unused = argument;

    if (is_forgotten(x, NULL) && strlen(entry->name) < GPU_CLASS_MAX &&
        unused->count < COUNT_CLASSES_MAX)
        strcpy(unused->names[unused->count++], entry->name);
    return 0;
}

// No job takes of a class that none has named for a while: its licence goes.
static void drop_unused(void)
{
    struct unused unused = {.count = 0};

    list_for_each(license_entries_all(), note_unused, &unused);
    for (size_t i = 0; i < unused.count; i++)
        license_entry_remove(unused.names[i]);
}

// The scheduler stops at the first job that waits for licences, and leaves those after it without a
// reason.
static int give_reason(void *x, void *argument)
{
    const struct round *round = argument;
    job_record_t *job = x;

    if (round->first && job != round->first && job->state_reason == WAIT_NO_REASON &&
        job_order_waits(job) && licenses_name_ours(job->licenses)) {
        job->state_reason = WAIT_PRIORITY;
        last_job_update = time(NULL);
    }
    return 0;
}

// Classes are forgotten before jobs are visited, which then take nothing of them.
static void visit_jobs(struct round *round)
{
    wanted_forget();
    wanted_each(add_missing);
    list_for_each(job_list, visit_job, round);
    list_for_each(job_list, give_reason, round);
    drop_unused();
}

static uint64_t total_of(const struct round *round, const char *name, uint64_t total)
{
    const licenses_t *entry = license_entry_find(license_entries_all(), name);

    return round->stale && entry ? entry->total : total;
}

// Returns the class that the first waiting job asks for; the number of classes if there is none.
static size_t class_of_first(const struct round *round)
{
    const struct count *count = round->count;
    size_t class = 0;

    while (class < count->class_count &&
           !(round->first &&
             license_entry_find(round->first->license_list, count->classes[class].name)))
        class ++;
    return class;
}

static bool first_lacks(const struct round *round, size_t class)
{
    const struct count_class *answered = &round->count->classes[class];
    const licenses_t *entry = license_entry_find(round->first->license_list, answered->name);

    return round->used[class] + entry->total > answered->total;
}

// Returns true for a moment after the first job has lacked nothing: it may wait for nodes.
static bool first_starts(const struct round *round, size_t class)
{
    enum { MOMENT_MS = 1000 };
    static uint64_t used;
    static uint32_t job;
    static int64_t since;

    if (job != round->first->job_id || used != round->used[class])
        since = clock_ms();
    job = round->first->job_id;
    used = round->used[class];
    return clock_ms() - since < MOMENT_MS;
}

static bool others_may_start(const struct round *round, size_t first)
{
    bool may = false;

    for (size_t i = 0; i < round->count->class_count; i++)
        may |= i != first && round->waiting[i] && round->used[i] < round->count->classes[i].total;
    return may;
}

// slurmctld takes the counts of two classes for independent of each other. If it started jobs of
// both in one go, both might be after the same GPUs, and one would start in vain. So where jobs of
// several classes wait, the end of a job gives licences to one class alone. What there is for
// others then, the next round says; until then these have as much more used as they have in all.
static bool set_classes_of(struct round *round)
{
    const struct count *count = round->count;
    size_t first = class_of_first(round);
    bool waits = first < count->class_count, lacks = waits && first_lacks(round, first);
    bool starts = waits && !lacks && first_starts(round, first);
    bool others = lacks && others_may_start(round, first), more = false;

    for (size_t i = 0; i < count->class_count; i++) {
        const struct count_class *class = &count->classes[i];
        uint64_t total = total_of(round, class->name, class->total), used = round->used[i];
        bool closed = i == first ? others : waits && round->waiting[i] && (starts || used >= total);
        more |= set_license(class->name, total, closed ? used + total : used);
        round->again |= closed && round->returns;
    }
    return more;
}

static bool set_licenses_of(struct round *round)
{
    const struct count *count = round->count;
    uint64_t gpus = total_of(round, "rgpu", count->gpus + count->lent_gpus);
    uint64_t memory = total_of(round, "rgpu_mem", count_units(count));
    bool more;

    more = set_license("rgpu", job_licenses_at_most("rgpu", gpus),
                       round->used_gpus + count->gpus_in_shares);
    more |= set_license("rgpu_mem", job_licenses_at_most("rgpu_mem", memory),
                        round->used_memory + count->memory_in_whole / GPU_SHARE_UNIT);
    return set_classes_of(round) || more;
}

bool job_licenses_apply(struct count *count, bool *more)
{
    slurmctld_lock_t both = {.conf = READ_LOCK, .job = WRITE_LOCK};
    struct round round = {.count = count};

    *more = false;
    lock_slurmctld(both);
    if (!job_list || !license_entries_all()) { // it is starting, or counts no licences
        unlock_slurmctld(both);
        return true;
    }
    visit_jobs(&round);
    *more = set_licenses_of(&round);
    has_answer = true;
    unlock_slurmctld(both);
    return !round.stale && !round.again;
}

// A slurmctld that was started anew has as many licences as slurm.conf says, and its jobs hold some
// of them. If slurm.conf says fewer, backfill would take them from nothing, and count wrongly from
// then on. Until the broker says what there is, there is what jobs hold.
bool job_licenses_keep(struct count *count)
{
    slurmctld_lock_t both = {.conf = READ_LOCK, .job = WRITE_LOCK};
    struct round round = {.count = count};
    bool loaded;

    lock_slurmctld(both);
    // slurmctld has read its nodes and then its jobs.
    loaded = job_list && avail_node_bitmap;
    if (loaded)
        job_licenses_report_missing();
    loaded = loaded && license_entries_all();
    if (loaded) {
        visit_jobs(&round);
        keep_license("rgpu", round.used_gpus);
        keep_license("rgpu_mem", round.used_memory);
    }
    unlock_slurmctld(both);
    return loaded;
}
