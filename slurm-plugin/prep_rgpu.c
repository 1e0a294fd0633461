// SPDX-License-Identifier: GPL-2.0-or-later
// prep/rgpu: takes a job's GPUs from the broker when the job starts and gives them back when it
// ends for any reason. slurmctld calls with its job lock held, so the talking is done by threads
// that take a copy of what they need; until they report, the job is configuring or completing.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/scope.h"
#include "slurm-plugin/base/slurm_headers.h"

#include "common/base/clock.h"
#include "slurm-plugin/base/job_lease.h"
#include "slurm-plugin/base/job_order.h"
#include "slurm-plugin/job_switches.h"
#include "slurm-plugin/base/lent.h"
#include "slurm-plugin/base/license_entries.h"

PLUGIN_IDENTITY("leases of remote GPUs", "prep/rgpu");

PLUGIN_EXPORT int init(void);
PLUGIN_EXPORT FINI_TYPE fini(void);
PLUGIN_EXPORT void prep_p_register_callbacks(prep_callbacks_t *given);
PLUGIN_EXPORT int prep_p_prolog(job_env_t *job_env, slurm_cred_t *cred);
PLUGIN_EXPORT int prep_p_epilog(job_env_t *job_env, slurm_cred_t *cred);
PLUGIN_EXPORT int prep_p_prolog_slurmctld(job_record_t *job, bool *async);
PLUGIN_EXPORT int prep_p_epilog_slurmctld(job_record_t *job, bool *async);
PLUGIN_EXPORT void prep_p_required(prep_call_type_t type, bool *required);

// slurmd loads this plugin too, and has none of these.
#pragma weak find_job_record
#pragma weak job_list
#pragma weak last_job_update
#pragma weak lock_slurmctld
#pragma weak schedule
#pragma weak slurm_conf
#pragma weak srun_user_message
#pragma weak unlock_slurmctld

// Between SIGKILL and the last node's word that all processes have gone.
enum { KILLED_SECONDS = 5 };

// Pauses between two looks at a job that ends: a quarter of the time that it has taken so far.
enum { SHORTEST_POLL_NS = 5000000, LONGEST_POLL_NS = 250000000 };

// Until a job that got no GPUs is started again: credentials have the second of their making, and
// must be newer than the word that revoked the last.
enum { RETRY_SECONDS = 3 };

static prep_callbacks_t callbacks;
static struct slurm_settings settings;
static int settings_error = -ENOENT;
static atomic_bool stopping;

// The number of running threads of this plugin: it must not be unloaded while they run.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_done = PTHREAD_COND_INITIALIZER;
static pthread_cond_t one_done = PTHREAD_COND_INITIALIZER;
static unsigned at_work;

// srun and salloc look whether their job is ready as soon as they have it, and if it is not, again
// only 0.1 s or 3 s later. For their jobs the hook waits some milliseconds for its thread, so that
// an acquire that succeeds at once costs no such pause: `waited` says that the hook still does.
struct task {
    struct job_lease job;
    bool acquire;
    bool waited, finished; // under `lock`
    char why[320];
};

int init(void)
{
    atomic_store(&stopping, false);
    if (!running_in_slurmctld())
        return SLURM_SUCCESS;
    settings_error = slurm_settings_load(&settings);
    if (!settings_error)
        settings_error = identify_cluster(&settings);
    if (settings_error)
        error("%s: the settings of rgpu cannot be read: no job gets remote GPUs", plugin_type);
    return SLURM_SUCCESS;
}

FINI_TYPE fini(void)
{
    atomic_store(&stopping, true);
    {
        SCOPED_LOCK(&lock);
        while (at_work > 0)
            pthread_cond_wait(&all_done, &lock);
    }
    if (!settings_error)
        slurm_settings_clear(&settings);
    settings_error = -ENOENT;
    FINI_RETURN;
}

void prep_p_register_callbacks(prep_callbacks_t *given)
{
    callbacks = *given;
}

int prep_p_prolog(job_env_t *job_env, slurm_cred_t *cred)
{
    return SLURM_SUCCESS;
}

int prep_p_epilog(job_env_t *job_env, slurm_cred_t *cred)
{
    return SLURM_SUCCESS;
}

void prep_p_required(prep_call_type_t type, bool *required)
{
    *required = running_in_slurmctld() &&
                (type == PREP_PROLOG_SLURMCTLD || type == PREP_EPILOG_SLURMCTLD);
}

// ---- the lease of a job ----

// 0: the job asks for no remote GPUs.
static int prep_rgpu_read_job(const job_record_t *job, struct job_lease *lease)
{
    const char *why;

    memset(lease, 0, sizeof(*lease));
    lease->job = job->job_id;
    lease->start = job->start_time;
    lease->owner = job->user_id;
    snprintf(lease->account, sizeof(lease->account), "%s", job->account ? job->account : "");
    lease->nodes = job->node_cnt ? job->node_cnt : 1;
    lease->can_requeue = job->batch_flag && job->details && job->details->requeue;
    if (gpu_request_parse(job->tres_per_node, job->spank_job_env, job->spank_job_env_size,
                          &lease->request, &why) == 0) {
        if (lease->request.per_node > 0)
            near_of_job(job, lease->near);
        return lease->request.per_node > 0;
    }
    error("%s: JobId=%u: %s", plugin_type, job->job_id, why);
    return -EINVAL;
}

// ---- messages to the user ----

// Runs after the job was sent back into the queue: what squeue and scontrol show of it. A request
// that no pool could satisfy is held, else it would be tried for ever.
static void tell_user(struct task *task, bool hold)
{
    slurmctld_lock_t job_write = {.job = WRITE_LOCK};
    job_record_t *job;

    lock_slurmctld(job_write);
    job = find_job_record(task->job.job);
    if (job) {
        if (!job->system_comment || !xstrncmp(job->system_comment, "rgpu: ", 6)) {
            xfree(job->system_comment);
            job->system_comment = xstrdup(task->why);
        }
        if (hold && task->job.can_requeue) {
            job->priority = 0;
            job->state_reason = WAIT_HELD_USER;
        }
        // Slurm keeps a requeued job back for as long as credentials of its start are valid.
        if (job->details && job->details->begin_time > time(NULL) + RETRY_SECONDS)
            job->details->begin_time = time(NULL) + RETRY_SECONDS;
        xfree(job->state_desc);
        job->state_desc = xstrdup(task->why);
        last_job_update = time(NULL);
        if (!task->job.can_requeue && !hold)
            srun_user_message(job, task->why);
    }
    unlock_slurmctld(job_write);
}

// Under slurmctld's lock: why it waited is over, which GPUs it has is what scontrol and sacct show.
static void note_gpus(job_record_t *job, const char *gpus)
{
    if (job->system_comment && !xstrncmp(job->system_comment, "rgpu: ", 6))
        xfree(job->system_comment);
    if (*gpus && (!job->admin_comment || !xstrncmp(job->admin_comment, "rgpu: ", 6))) {
        xfree(job->admin_comment);
        job->admin_comment = xstrdup(gpus);
    }
    last_job_update = time(NULL);
}

static void tell_gpus(const struct task *task)
{
    slurmctld_lock_t job_write = {.job = WRITE_LOCK};
    job_record_t *job;

    lock_slurmctld(job_write);
    job = find_job_record(task->job.job);
    if (job)
        note_gpus(job, task->why);
    unlock_slurmctld(job_write);
}

// ---- the present state of the job ----

// Under slurmctld's lock. NULL: this run of the job is over, another may have begun.
static job_record_t *find_run(const struct job_lease *run)
{
    job_record_t *job = find_job_record(run->job);

    return job && job->start_time == run->start ? job : NULL;
}

// A job that was cancelled while it waited for GPUs must not go back into the queue without them.
static bool still_starts(const struct job_lease *run)
{
    slurmctld_lock_t job_read = {.job = READ_LOCK};
    job_record_t *job;
    bool starts;

    lock_slurmctld(job_read);
    job = find_job_record(run->job);
    starts = job && !IS_JOB_COMPLETING(job) && !IS_JOB_FINISHED(job);
    unlock_slurmctld(job_read);
    return starts;
}

// A node leaves the job when its last process has gone and its epilog has run.
static bool has_processes(const struct job_lease *run)
{
    slurmctld_lock_t job_read = {.job = READ_LOCK};
    job_record_t *job;
    bool has;

    lock_slurmctld(job_read);
    job = find_run(run);
    has = job && IS_JOB_COMPLETING(job) && job->node_bitmap_cg && bit_ffs(job->node_bitmap_cg) >= 0;
    unlock_slurmctld(job_read);
    return has;
}

// slurmctld calls this when it asks the job's processes to end. They may still need their GPUs, for
// a last checkpoint, until Slurm kills them. The wait ends even if a process cannot be killed.
static void await_processes(const struct job_lease *run)
{
    time_t killed = time(NULL) + slurm_conf.kill_wait + KILLED_SECONDS;
    long pause = SHORTEST_POLL_NS;

    while (!atomic_load(&stopping) && time(NULL) < killed && has_processes(run)) {
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        pause = MIN(pause + pause / 4, LONGEST_POLL_NS);
    }
}

// ---- the threads ----

// Returns true if slurmctld ends, as it does for a reconfiguration, too. Before it calls fini(), it
// unloads what its callbacks use, so they are not called. It finishes starts and ends later itself.
static bool slurmctld_ends(void)
{
    return atomic_load(&stopping) || slurmctld_config.shutdown_time;
}

// True: the hook takes it from here, and the task with it.
static bool prep_rgpu_hand_over(struct task *task)
{
    bool taken;

    SCOPED_LOCK(&lock);
    taken = task->waited;
    if (taken) {
        task->finished = true;
        pthread_cond_broadcast(&one_done);
    }
    return taken;
}

// False: the task is no longer this thread's.
static bool run_acquire(struct task *task)
{
    task->job.wanted = still_starts;
    int result = settings_error ? settings_error
                                : lease_acquire(&settings, &task->job, &stopping, task->why,
                                                sizeof(task->why));
    bool hold = result == -E2BIG || result == -EINVAL;

    if (result == -ENOMEM || settings_error)
        snprintf(task->why, sizeof(task->why), "rgpu: slurmctld cannot ask the broker");
    if (!result && prep_rgpu_hand_over(task))
        return false;
    if (slurmctld_ends())
        return true;
    if (!result) {
        tell_gpus(task);
        prep_report(callbacks.prolog_slurmctld, 0, task->job.job);
        return true;
    }
    info("%s: JobId=%u: %s", plugin_type, task->job.job, task->why);
    if (!still_starts(&task->job)) {
        prep_report(callbacks.prolog_slurmctld, 0, task->job.job);
        return true;
    }
    tell_user(task, false);
    prep_report(callbacks.prolog_slurmctld, W_EXITCODE(1, 0), task->job.job);
    tell_user(task, hold);
    return true;
}

// ---- jobs that were suspended for this one ----

enum { LENDERS_MAX = 256 };

struct lender_ids {
    uint32_t borrower;
    uint32_t jobs[LENDERS_MAX];
    size_t count;
};

static int add_lender(void *x, void *argument)
{
    struct lender_ids *lenders = argument;
    const job_record_t *job = x;

    if (IS_JOB_SUSPENDED(job) && lent_to(job->system_comment) == lenders->borrower &&
        lenders->count < LENDERS_MAX)
        lenders->jobs[lenders->count++] = job->job_id;
    return 0;
}

// Done before the GPUs are free, so that they are not granted to another job. A job that goes back
// into the queue wants them again. If this fails, rgpu-slurm-sync does it later.
static void return_lent(const struct job_lease *run)
{
    slurmctld_lock_t job_read = {.job = READ_LOCK};
    struct lender_ids lenders = {.borrower = run->job};
    const job_record_t *job;

    lock_slurmctld(job_read);
    job = find_job_record(run->job);
    if (job_list && !(job && IS_JOB_PENDING(job)))
        list_for_each(job_list, add_lender, &lenders);
    unlock_slurmctld(job_read);
    for (size_t i = 0; i < lenders.count && !atomic_load(&stopping); i++)
        if (lease_return(&settings, lenders.jobs[i]) < 0)
            info("%s: JobId=%u: its GPUs are not back yet", plugin_type, lenders.jobs[i]);
}

// slurmctld counts each class of requests by itself: it would start jobs of two classes for the
// GPUs that come back. So a job gives back licences only if any GPUs suit the first job that waits.
// Those of other classes stay in use until the next round has counted them.
static void return_classes(const struct job_lease *run)
{
    slurmctld_lock_t job_write = {.conf = READ_LOCK, .job = WRITE_LOCK};
    char class[GPU_CLASS_MAX] = "";
    const job_record_t *first;
    job_record_t *job;

    lock_slurmctld(job_write);
    job = find_run(run);
    first = job ? job_order_first() : NULL;
    if (first)
        license_class_of(first, class);
    if (job)
        license_entries_keep(job, strcmp(class, GPU_CLASS_ANY) ? "" : class);
    unlock_slurmctld(job_write);
}

static void run_release(struct task *task)
{
    int result;

    await_processes(&task->job);
    if (slurmctld_ends())
        return;
    if (!settings_error)
        return_lent(&task->job);
    result = settings_error
                 ? settings_error
                 : lease_release(&settings, &task->job, &stopping, task->why, sizeof(task->why));
    if (result)
        info("%s: JobId=%u: not released yet, rgpu-slurm-sync will see to it: %s", plugin_type,
             task->job.job, task->why);
    if (slurmctld_ends())
        return;
    if (!settings_error && settings.count)
        return_classes(&task->job);
    prep_report(callbacks.epilog_slurmctld, 0, task->job.job);
    // Slurm looks for jobs to start when nodes report the end of one; often that was before the
    // licences came free just now.
    schedule(false);
}

static void *prep_rgpu_run(void *argument)
{
    struct task *task = argument;
    bool ours = true;

    if (task->acquire)
        ours = run_acquire(task);
    else
        run_release(task);
    if (ours)
        free(task);
    SCOPED_LOCK(&lock);
    if (--at_work == 0)
        pthread_cond_broadcast(&all_done);
    return NULL;
}

static int prep_rgpu_start_thread(struct task *task)
{
    pthread_attr_t attributes;
    sigset_t all, old;
    pthread_t thread;
    int result;

    // Signals are for slurmctld's own threads.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    {
        SCOPED_LOCK(&lock);
        result = pthread_create(&thread, &attributes, prep_rgpu_run, task);
        if (!result)
            at_work++;
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return result;
}

// Returns true if the acquire succeeded within the time that slurmctld may be held.
static bool await_shortly(job_record_t *job, struct task *task)
{
    uint64_t until = clock_ns() + settings.interactive_hold * 1000;
    bool finished;

    {
        SCOPED_LOCK(&lock);
        while (!task->finished && clock_wait_until(&one_done, &lock, until) == 0) {
        }
        finished = task->finished;
        task->waited = false;
    }
    if (finished) {
        note_gpus(job, task->why);
        free(task);
    }
    return finished;
}

static int prep_rgpu_begin(job_record_t *job, bool acquire, bool *async)
{
    struct task *task = calloc(1, sizeof(*task));
    int wanted = task ? prep_rgpu_read_job(job, &task->job) : -ENOMEM;
    bool wait;

    *async = false;
    if (wanted > 0) {
        wait = acquire && !job->batch_flag && !settings_error && settings.interactive_hold > 0;
        task->acquire = acquire;
        task->waited = wait;
        *async = prep_rgpu_start_thread(task) == 0;
        if (*async) {
            *async = !(wait && await_shortly(job, task));
            return SLURM_SUCCESS;
        }
        wanted = -EAGAIN;
    }
    free(task);
    if (wanted < 0)
        error("%s: JobId=%u: %s failed", plugin_type, job->job_id, acquire ? "acquire" : "release");
    // slurmctld ignores this result. A job that has no lease gets no ticket, and ends with its
    // first task; a lease that was not released falls to rgpu-slurm-sync.
    return wanted < 0 ? SLURM_ERROR : SLURM_SUCCESS;
}

int prep_p_prolog_slurmctld(job_record_t *job, bool *async)
{
    return prep_rgpu_begin(job, true, async);
}

int prep_p_epilog_slurmctld(job_record_t *job, bool *async)
{
    return prep_rgpu_begin(job, false, async);
}
