// SPDX-License-Identifier: GPL-2.0-or-later
// See class_takes.h.
#include "slurm-plugin/counts/class_takes.h"

#include "slurm-plugin/base/job_order.h"
#include "slurm-plugin/base/license_entries.h"

static uint64_t left_of(const struct class_takes *takes, size_t class)
{
    return takes->total[class] - takes->used[class];
}

// The lists of all jobs together never name more of a class than there is.
static void take_of_class(job_record_t *job, struct class_takes *takes, size_t class,
                          uint64_t wanted)
{
    uint64_t number = MIN(wanted, left_of(takes, class));

    license_entry_take(job, takes->count->classes[class].name, (uint32_t)number);
    takes->used[class] += number;
}

static const struct count_job *lessee(const struct class_takes *takes, const job_record_t *job)
{
    return count_lease_of(takes->count, job->job_id, job->start_time)
               ? count_job_of(takes->count, job->job_id, job->start_time)
               : NULL;
}

bool class_takes_is_holder(const job_record_t *job)
{
    return (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job) || IS_JOB_COMPLETING(job)) &&
           job->license_list && licenses_name_ours(job->licenses);
}

// A job that has its lease takes from each class what the broker says, until it ends.
static int take_by_lease(void *x, void *argument)
{
    struct class_takes *takes = argument;
    const struct count_job *asked = class_takes_is_holder(x) ? lessee(takes, x) : NULL;

    for (size_t i = 0; asked && i < takes->count->class_count; i++)
        take_of_class(x, takes, i, count_takes(takes->count, asked, i));
    return 0;
}

// Returns the number of GPUs on which the licences that are left can be had.
static uint64_t gpus_left(const struct class_takes *takes, size_t class)
{
    const struct count_class *answered = &takes->count->classes[class];
    uint64_t each = MAX(answered->each, 1);

    return (left_of(takes, class) * answered->gpus + each - 1) / each;
}

// slurmctld counts each class by itself, and would start jobs of two classes for the same GPUs. So
// a job asks another class, until it has its lease, for what its GPUs may take away there. The
// broker first gives GPUs that no other class wants: there are some if its own class has more left.
static uint64_t might_take(const job_record_t *job, const struct class_takes *takes, size_t own,
                           size_t class)
{
    const struct count_class *classes = takes->count->classes;
    uint64_t whole = license_entry_count(job, "rgpu"), gpus = whole ? whole : classes[own].gpus;
    uint64_t least = gpus + gpus_left(takes, class), spare = gpus_left(takes, own);

    if (job->het_job_id || least <= spare) // slurmctld starts its parts together or not at all
        return 0;
    return MIN(MIN(gpus, least - spare) * MAX(classes[class].each, 1), left_of(takes, class));
}

// Returns the index of the class that the job asks for; the number of classes if it is not counted.
static size_t index_of_own(const job_record_t *job, const struct class_takes *takes)
{
    const struct count *count = takes->count;
    char own[GPU_CLASS_MAX];
    const struct count_class *class;

    license_class_of(job, own);
    class = count_find((struct count *)count, own);
    return class ? (size_t)(class - count->classes) : count->class_count;
}

// Returns what a job without a lease takes. One that ends has given its lease back; one that has
// lost it has its GPUs until its end.
static uint64_t wanted_of(const job_record_t *job, const struct class_takes *takes, size_t own,
                          size_t class)
{
    if (IS_JOB_COMPLETING(job))
        return 0;
    if (class == own) // its list has less after a round in which there were not as many
        return strcmp(takes->count->classes[own].name, GPU_CLASS_ANY)
                   ? 1
                   : license_entry_count(job, "rgpu");
    if (IS_JOB_CONFIGURING(job) && own < takes->count->class_count)
        return might_take(job, takes, own, class);
    return license_entry_count(job, takes->count->classes[class].name);
}

static int take_by_request(void *x, void *argument)
{
    struct class_takes *takes = argument;
    size_t own, count = takes->count->class_count;
    job_record_t *job = x;

    if (!class_takes_is_holder(job) || lessee(takes, job))
        return 0;
    own = index_of_own(job, takes);
    if (own < count)
        take_of_class(job, takes, own, wanted_of(job, takes, own, own));
    for (size_t i = 0; i < count; i++)
        if (i != own)
            take_of_class(job, takes, i, wanted_of(job, takes, own, i));
    return 0;
}

// A job that smaller jobs must not delay.
struct large {
    struct class_takes *takes;
    job_record_t *job; // NULL: there is none
    uint64_t gpus;     // that it asks for
    time_t start;      // when it has them
};

// Slurm's backfill plans no job that lacks licences while there is any reservation
// (job_test_resv), so that smaller jobs would pass a large one for ever. It is planned here then.
// Jobs with a constraint need no plan: the broker keeps their GPUs.
static struct large plan_large(struct class_takes *takes)
{
    struct large large = {.takes = takes};
    job_record_t *first = list_count(resv_list) > 0 ? job_order_first() : NULL;
    char own[GPU_CLASS_MAX];
    size_t any = 0;
    uint64_t gpus;

    if (first)
        license_class_of(first, own);
    if (!first || strcmp(own, GPU_CLASS_ANY) != 0 ||
        strcmp(takes->count->classes[any].name, own) != 0)
        return large;
    gpus = license_entry_count(first, own) + takes->used[any];
    if (gpus <= takes->total[any])
        return large;
    large.start = count_end_that_frees(takes->count, any, gpus - takes->total[any]);
    large.job = large.start ? first : NULL;
    large.gpus = license_entry_count(first, own);
    return large;
}

// Users see the plan by `squeue --start`. Backfill removes it each time that it plans.
static void show_plan(const struct large *large)
{
    if (!large->job || large->start <= time(NULL) || large->job->start_time == large->start)
        return;
    large->job->start_time = large->start;
    last_job_update = time(NULL);
}

static bool delays_large(const struct large *large, const job_record_t *job)
{
    bool limited = job->time_limit != NO_VAL && job->time_limit != INFINITE;

    return large->job && job_order_before(large->job, job) &&
           (!limited || time(NULL) + (time_t)job->time_limit * 60 > large->start);
}

// A job that would delay the large one starts when there are GPUs for both.
static void ask_beside_large(job_record_t *job, const struct large *large)
{
    uint64_t gpus = license_entry_count(job, GPU_CLASS_ANY);

    if (gpus && delays_large(large, job))
        license_entry_take(job, GPU_CLASS_ANY,
                           (uint32_t)MIN(gpus + large->gpus, large->takes->total[0]));
}

static int ask_of_others(void *x, void *argument)
{
    const struct large *large = argument;
    const struct class_takes *takes = large->takes;
    const struct count *count = takes->count;
    job_record_t *job = x;
    size_t own;

    if (!IS_JOB_PENDING(job) || !job->license_list || !licenses_name_ours(job->licenses))
        return 0;
    own = index_of_own(job, takes);
    if (own < count->class_count &&
        license_entry_count(job, count->classes[own].name) <= left_of(takes, own))
        for (size_t i = 0; i < count->class_count; i++)
            if (takes->waiting[i] && i != own)
                license_entry_take(job, count->classes[i].name,
                                   (uint32_t)might_take(job, takes, own, i));
    ask_beside_large(job, large);
    return 0;
}

void class_takes_enter(struct class_takes *takes)
{
    struct large large;

    list_for_each(job_list, take_by_lease, takes);
    list_for_each(job_list, take_by_request, takes);
    large = plan_large(takes);
    show_plan(&large);
    list_for_each(job_list, ask_of_others, &large);
}
