// SPDX-License-Identifier: GPL-2.0-or-later
// See job_licenses.h. slurmctld takes a job that needs more than a licence's total for one that can
// never run, and plans nothing for it. So a total is what there would be if no job held anything.
// What running jobs take of each class stands in their own lists of licences, and backfill reads
// nothing else: it plans waiting jobs for the ends of the running ones. The same lists say which
// jobs may start at once.
#include "slurm-plugin/job_licenses.h"

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
    uint64_t total[COUNT_CLASSES_MAX], used[COUNT_CLASSES_MAX]; // of the classes
    bool stale;                      // a job has had its lease since the question was asked
    bool again;                      // a class is new
    bool waiting[COUNT_CLASSES_MAX]; // jobs wait for the class
    const job_record_t *large;       // that smaller jobs must not delay, see plan_large
    uint64_t large_gpus;             // that it asks for
    time_t large_start;              // when it has them
};

static uint64_t licenses_of(const job_record_t *job, const char *name)
{
    const licenses_t *entry = license_entry_find(job->license_list, name);

    return entry ? entry->total : 0;
}

// Returns true for a class that no job has named for a while. Its licence is about to go.
static int is_forgotten(void *x, void *ignored)
{
    const licenses_t *entry = x;

    return gpu_is_class(entry->name) && !wanted_has(entry->name);
}

static bool is_holder(const job_record_t *job)
{
    return job->license_list && licenses_name_ours(job->licenses) &&
           (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job) || IS_JOB_COMPLETING(job));
}

static void licenses_add_holder(job_record_t *job, struct round *round)
{
    char own[GPU_CLASS_MAX];

    gpu_class_in(job->licenses, own);
    wanted_note(own);
    list_delete_all(job->license_list, is_forgotten, NULL);
    round->used_gpus += licenses_of(job, "rgpu");
    round->used_memory += licenses_of(job, "rgpu_mem");
    round->stale |= count_lease_of(round->count, job->job_id, job->start_time) &&
                    !count_job_of(round->count, job->job_id, job->start_time);
    count_lent(round->count, job->job_id, job->start_time, preempt_lends(job));
}

static uint64_t left_of(const struct round *round, size_t class)
{
    return round->total[class] - round->used[class];
}

// The lists of all jobs together never name more of a class than there is.
static void take_of_class(job_record_t *job, struct round *round, size_t class, uint64_t wanted)
{
    uint64_t takes = MIN(wanted, left_of(round, class));

    license_entry_take(job, round->count->classes[class].name, (uint32_t)takes);
    round->used[class] += takes;
}

static const struct count_job *lessee(const struct round *round, const job_record_t *job)
{
    return count_lease_of(round->count, job->job_id, job->start_time)
               ? count_job_of(round->count, job->job_id, job->start_time)
               : NULL;
}

// A job that has its lease takes from each class what the broker says, until it ends.
static int take_by_lease(void *x, void *argument)
{
    struct round *round = argument;
    const struct count_job *asked = is_holder(x) ? lessee(round, x) : NULL;

    for (size_t i = 0; asked && i < round->count->class_count; i++)
        take_of_class(x, round, i, count_takes(round->count, asked, i));
    return 0;
}

// Returns the number of GPUs on which the licences that are left can be had.
static uint64_t gpus_left(const struct round *round, size_t class)
{
    const struct count_class *answered = &round->count->classes[class];
    uint64_t each = MAX(answered->each, 1);

    return (left_of(round, class) * answered->gpus + each - 1) / each;
}

// slurmctld counts each class by itself, and would start jobs of two classes for the same GPUs. So
// a job asks another class, until it has its lease, for what its GPUs may take away there. The
// broker first gives GPUs that no other class wants: there are some if its own class has more left.
static uint64_t might_take(const job_record_t *job, const struct round *round, size_t own,
                           size_t class)
{
    const struct count_class *classes = round->count->classes;
    uint64_t whole = licenses_of(job, "rgpu"), gpus = whole ? whole : classes[own].gpus;
    uint64_t least = gpus + gpus_left(round, class), spare = gpus_left(round, own);

    if (job->het_job_id || least <= spare) // slurmctld starts its parts together or not at all
        return 0;
    return MIN(MIN(gpus, least - spare) * MAX(classes[class].each, 1), left_of(round, class));
}

// Returns the index of the class that the job asks for; the number of classes if it is not counted.
static size_t index_of_own(const job_record_t *job, const struct round *round)
{
    const struct count *count = round->count;
    char own[GPU_CLASS_MAX];
    const struct count_class *class;

    license_class_of(job, own);
    class = count_find((struct count *)count, own);
    return class ? (size_t)(class - count->classes) : count->class_count;
}

// Returns what a job without a lease takes. One that ends has given its lease back; one that has
// lost it has its GPUs until its end.
static uint64_t wanted_of(const job_record_t *job, const struct round *round, size_t own,
                          size_t class)
{
    if (IS_JOB_COMPLETING(job))
        return 0;
    if (class == own) // its list has less after a round in which there were not as many
        return strcmp(round->count->classes[own].name, GPU_CLASS_ANY) ? 1
                                                                      : licenses_of(job, "rgpu");
    if (IS_JOB_CONFIGURING(job) && own < round->count->class_count)
        return might_take(job, round, own, class);
    return licenses_of(job, round->count->classes[class].name);
}

static int take_by_request(void *x, void *argument)
{
    struct round *round = argument;
    size_t own, count = round->count->class_count;
    job_record_t *job = x;

    if (!is_holder(job) || lessee(round, job))
        return 0;
    own = index_of_own(job, round);
    if (own < count)
        take_of_class(job, round, own, wanted_of(job, round, own, own));
    for (size_t i = 0; i < count; i++)
        if (i != own)
            take_of_class(job, round, i, wanted_of(job, round, own, i));
    return 0;
}

// Slurm's backfill plans no job that lacks licences while there is any reservation
// (job_test_resv), so that smaller jobs would pass a large one for ever. It is planned here then.
// Jobs with a constraint need no plan: the broker keeps their GPUs.
static void plan_large(struct round *round)
{
    const job_record_t *first = list_count(resv_list) > 0 ? job_order_first() : NULL;
    char own[GPU_CLASS_MAX];
    size_t any = 0;
    uint64_t gpus;

    if (first)
        license_class_of(first, own);
    if (!first || strcmp(own, GPU_CLASS_ANY) != 0 ||
        strcmp(round->count->classes[any].name, own) != 0)
        return;
    gpus = licenses_of(first, own) + round->used[any];
    if (gpus <= round->total[any])
        return;
    round->large_start = count_end_that_frees(round->count, any, gpus - round->total[any]);
    round->large = round->large_start ? first : NULL;
    round->large_gpus = licenses_of(first, own);
}

static bool delays_large(const struct round *round, const job_record_t *job)
{
    bool limited = job->time_limit != NO_VAL && job->time_limit != INFINITE;

    return round->large && job_order_before(round->large, job) &&
           (!limited || time(NULL) + (time_t)job->time_limit * 60 > round->large_start);
}

// A job that would delay the large one starts when there are GPUs for both.
static void ask_beside_large(job_record_t *job, const struct round *round)
{
    uint64_t gpus = licenses_of(job, GPU_CLASS_ANY);

    if (gpus && delays_large(round, job))
        license_entry_take(job, GPU_CLASS_ANY,
                           (uint32_t)MIN(gpus + round->large_gpus, round->total[0]));
}

static int ask_of_others(void *x, void *argument)
{
    const struct round *round = argument;
    const struct count *count = round->count;
    job_record_t *job = x;
    size_t own;

    if (!IS_JOB_PENDING(job) || !job->license_list || !licenses_name_ours(job->licenses))
        return 0;
    own = index_of_own(job, round);
    if (own < count->class_count &&
        licenses_of(job, count->classes[own].name) <= left_of(round, own))
        for (size_t i = 0; i < count->class_count; i++)
            if (round->waiting[i] && i != own)
                license_entry_take(job, count->classes[i].name,
                                   (uint32_t)might_take(job, round, own, i));
    ask_beside_large(job, round);
    return 0;
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

// A job that waits asks for one of its own class, or for as many of any GPUs as it wants. A job
// that has run before still has what it took of all classes.
static void ask_for_own(job_record_t *job, struct round *round)
{
    const licenses_t *gpus = license_entry_find(job->license_list, "rgpu");
    const struct count_class *class;
    char own[GPU_CLASS_MAX];

    gpu_class_in(job->licenses, own);
    if (!*own && gpus)
        strcpy(own, GPU_CLASS_ANY);
    if (!wanted_has(own)) // backfill ends slurmctld at a licence that is in no list but a job's
        *own = '\0';
    license_entries_keep(job, own);
    if (*own)
        license_entry_take(job, own, strcmp(own, GPU_CLASS_ANY) != 0 ? 1 : gpus->total);
    class = count_find(round->count, own);
    if (class && job_order_waits(job))
        round->waiting[class - round->count->classes] = true;
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
    if (is_holder(job)) {
        licenses_add_holder(job, round);
    } else if (IS_JOB_PENDING(job)) {
        restore_class(job, round);
        ask_for_own(job, round);
        bring_forward(job);
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
static int give_reason(void *x, void *first)
{
    job_record_t *job = x;

    if (job != first && job->state_reason == WAIT_NO_REASON && job_order_waits(job) &&
        licenses_name_ours(job->licenses)) {
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
    list_for_each(job_list, give_reason, (void *)job_order_first());
    drop_unused();
}

static uint64_t total_of(const struct round *round, const char *name, uint64_t total)
{
    const licenses_t *entry = license_entry_find(license_entries_all(), name);

    return round->stale && entry ? entry->total : total;
}

static bool set_classes_of(struct round *round)
{
    const struct count *count = round->count;
    bool more = false;

    for (size_t i = 0; i < count->class_count; i++)
        round->total[i] = total_of(round, count->classes[i].name, count->classes[i].total);
    list_for_each(job_list, take_by_lease, round);
    list_for_each(job_list, take_by_request, round);
    plan_large(round);
    list_for_each(job_list, ask_of_others, round);
    for (size_t i = 0; i < count->class_count; i++)
        more |= set_license(count->classes[i].name, round->total[i], round->used[i]);
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
