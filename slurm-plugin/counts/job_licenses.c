// SPDX-License-Identifier: GPL-2.0-or-later
// See job_licenses.h. slurmctld takes a job that needs more than a licence's total for one that can
// never run, and plans nothing for it. So a total is what there would be if no job held anything.
// What running jobs take of each class stands in their own lists of licences, and backfill reads
// nothing else: it plans waiting jobs for the ends of the running ones. The same lists say which
// jobs may start at once.
#include "slurm-plugin/counts/job_licenses.h"

#include "slurm-plugin/base/license_entries.h"
#include "slurm-plugin/counts/preempt.h"
#include "slurm-plugin/counts/waiting_jobs.h"
#include "slurm-plugin/counts/wanted_classes.h"

// HELD by jobs, and in use OTHERWISE. Returns true if there are more than before. A slurmctld that
// was reconfigured while jobs completed counts wrongly from then on.
static bool set_license(const char *name, uint64_t total, uint64_t held, uint64_t otherwise)
{
    const licenses_t *entry = license_entry_find(license_entries_all(), name);

    if (entry && entry->used < held)
        info("job_submit/rgpu: licence=%s used=%u, but jobs hold %llu: corrected", name,
             entry->used, (unsigned long long)held);
    return license_entry_set(name, total, held + otherwise);
}

// The broker has answered since slurmctld was started.
static bool has_answer;

static void keep_license(const char *name, uint64_t used)
{
    const licenses_t *entry = license_entry_find(license_entries_all(), name);

    if (entry)
        set_license(name, has_answer && entry->total > used ? entry->total : used, used, 0);
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
    struct class_takes classes;
    uint64_t used_gpus, used_memory;
    bool stale; // a job has had its lease since the question was asked
    bool again; // a class is new
};

// Returns true for a class that no job has named for a while. Its licence is about to go.
static int is_forgotten(void *x, void *ignored)
{
    const licenses_t *entry = x;

    return gpu_is_class(entry->name) && !wanted_has(entry->name);
}

static void licenses_add_holder(job_record_t *job, struct round *round)
{
    char own[GPU_CLASS_MAX];

    gpu_class_in(job->licenses, own);
    wanted_note(own);
    list_delete_all(job->license_list, is_forgotten, NULL);
    round->used_gpus += license_entry_count(job, "rgpu");
    round->used_memory += license_entry_count(job, "rgpu_mem");
    round->stale |= count_lease_of(round->classes.count, job->job_id, job->start_time) &&
                    !count_job_of(round->classes.count, job->job_id, job->start_time);
    count_lent(round->classes.count, job->job_id, job->start_time, preempt_lends(job));
}

static int visit_job(void *x, void *argument)
{
    struct round *round = argument;
    job_record_t *job = x;

    if (IS_JOB_PENDING(job))
        waiting_job_restore(job);
    if (class_takes_is_holder(job))
        licenses_add_holder(job, round);
    else if (IS_JOB_PENDING(job) && job->license_list && licenses_name_ours(job->licenses))
        round->again |= waiting_job_ask(job, &round->classes);
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

// Classes are forgotten before jobs are visited, which then take nothing of them.
static void visit_jobs(struct round *round)
{
    round->classes.known = job_licenses_at_most("rgpu", round->classes.count->known);
    wanted_forget();
    wanted_each(license_entry_ensure);
    list_for_each(job_list, visit_job, round);
    waiting_jobs_give_reasons();
    drop_unused();
}

static uint64_t total_of(const struct round *round, const char *name, uint64_t total)
{
    const licenses_t *entry = license_entry_find(license_entries_all(), name);

    return round->stale && entry ? entry->total : total;
}

static bool set_classes_of(struct round *round)
{
    struct class_takes *takes = &round->classes;
    const struct count *count = takes->count;
    bool more = false;

    for (size_t i = 0; i < count->class_count; i++)
        takes->total[i] = total_of(round, count->classes[i].name, count->classes[i].total);
    class_takes_enter(takes);
    for (size_t i = 0; i < count->class_count; i++)
        more |= license_entry_set(count->classes[i].name, takes->total[i], takes->used[i]);
    return more;
}

static bool set_licenses_of(struct round *round)
{
    const struct count *count = round->classes.count;
    uint64_t gpus = total_of(round, "rgpu", count->gpus + count->lent_gpus);
    uint64_t memory = total_of(round, "rgpu_mem", count_units(count));
    bool more;

    more = set_license("rgpu", job_licenses_at_most("rgpu", gpus), round->used_gpus,
                       count->gpus_in_shares);
    more |= set_license("rgpu_mem", job_licenses_at_most("rgpu_mem", memory), round->used_memory,
                        count->memory_in_whole / GPU_SHARE_UNIT);
    return set_classes_of(round) || more;
}

bool job_licenses_apply(struct count *count, bool *more)
{
    slurmctld_lock_t both = {.conf = READ_LOCK, .job = WRITE_LOCK};
    struct round round = {.classes.count = count};

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
    struct round round = {.classes.count = count};
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
