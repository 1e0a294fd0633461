// SPDX-License-Identifier: GPL-2.0-or-later
// Counts what the broker could grant, in Slurm's terms.
#include "slurm-plugin/counts/count.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/base/job_lease.h"

// More of a class are not started between two looks.
enum { STARTS_AT_ONCE = 16 };

// ---- classes ----

struct count_class *count_find(struct count *count, const char *name)
{
    for (size_t i = 0; i < count->class_count; i++)
        if (!strcmp(count->classes[i].name, name))
            return &count->classes[i];
    return NULL;
}

struct count_class *count_want(struct count *count, const struct gpu_request *request,
                               uint32_t nodes, double now)
{
    struct count_class class = {.wanted = now, .possible = true, .gpus = request->per_node * nodes},
                       *known;

    gpu_request_class(request, nodes, class.name);
    known = count_find(count, class.name);
    if (known) {
        known->wanted = now;
        return known;
    }
    if (count->class_count == COUNT_CLASSES_MAX)
        return NULL;
    class.request = gpu_request_json(request, nodes);
    if (!class.request)
        return NULL;
    count->classes[count->class_count] = class;
    return &count->classes[count->class_count++];
}

const char *count_refusal(const struct count *count, uint32_t owner)
{
    static _Thread_local char why[256];
    size_t owned = 0;

    for (size_t i = 0; i < count->class_count; i++)
        owned += count->classes[i].owner == owner;
    if (owned >= COUNT_CLASSES_OF_USER)
        snprintf(
            why, sizeof(why),
            "rgpu: your jobs ask for GPUs in %d different ways (--rgpu-mem, --rgpu-constraint, "
            "nodes), which is the most; repeat one of these, or wait until such jobs have ended",
            COUNT_CLASSES_OF_USER);
    else if (count->class_count >= COUNT_CLASSES_MAX)
        snprintf(why, sizeof(why),
                 "rgpu: jobs ask for GPUs in %d different ways, which is the most; ask without "
                 "--rgpu-mem and --rgpu-constraint, or wait until such jobs have ended",
                 COUNT_CLASSES_MAX - 1);
    else
        return NULL;
    return why;
}

void count_forget(struct count *count, double before)
{
    size_t kept = 0;

    for (size_t i = 0; i < count->class_count; i++) {
        if (count->classes[i].wanted < before)
            json_decref(count->classes[i].request);
        else
            count->classes[kept++] = count->classes[i];
    }
    count->class_count = kept;
}

void count_clear(struct count *count)
{
    for (size_t i = 0; i < count->class_count; i++)
        json_decref(count->classes[i].request);
    free(count->leases);
    free(count->jobs);
    free(count->takes);
    memset(count, 0, sizeof(*count));
}

// ---- jobs ----

static int order_ends(const void *a, const void *b)
{
    const struct count_job *left = a, *right = b;

    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    return (left->job > right->job) - (left->job < right->job);
}

static int order_jobs(const void *a, const void *b)
{
    const struct count_job *left = a, *right = b;

    return (left->job > right->job) - (left->job < right->job);
}

void count_add_job(struct count *count, uint32_t job, time_t start, time_t end, bool lends)
{
    struct count_job *jobs = count->jobs;

    if ((count->job_count & (count->job_count - 1)) == 0) // 0, 1, 2, 4...: it is full
        jobs = realloc(jobs, (2 * count->job_count + 1) * sizeof(*jobs));
    if (!jobs)
        return;
    count->jobs = jobs;
    jobs[count->job_count++] =
        (struct count_job){.job = job, .start = start, .end = end, .lends = lends};
}

void count_sort_jobs(struct count *count)
{
    if (count->job_count == 0)
        return;
    qsort(count->jobs, count->job_count, sizeof(*count->jobs), order_ends);
    for (size_t i = 0; i < count->job_count; i++)
        count->jobs[i].place = i;
    qsort(count->jobs, count->job_count, sizeof(*count->jobs), order_jobs);
}

const struct count_job *count_job_of(const struct count *count, uint32_t job, time_t start)
{
    const struct count_job key = {.job = job}, *found = NULL;

    if (count->job_count)
        found = bsearch(&key, count->jobs, count->job_count, sizeof(key), order_jobs);
    return found && found->start == start ? found : NULL;
}

uint32_t count_takes(const struct count *count, const struct count_job *job, size_t class)
{
    return count->takes ? count->takes[job->place * count->class_count + class] : 0;
}

time_t count_end_that_frees(const struct count *count, size_t class, uint64_t number)
{
    const struct count_job **order = calloc(count->job_count + 1, sizeof(const void *));
    time_t end = 0;
    uint64_t freed = 0;

    for (size_t i = 0; order && i < count->job_count; i++)
        order[count->jobs[i].place] = &count->jobs[i];
    for (size_t i = order ? count->job_count : 0; i-- > 0 && freed < number;) {
        freed += count_takes(count, order[i], class);
        end = order[i]->end;
    }
    free(order);
    return freed >= number ? end : 0;
}

// ---- question and answer ----

// The jobs by the keys of their leases, in the order of their ends.
static void ask_about_jobs(const struct slurm_settings *settings, const struct count *count,
                           json_t *question)
{
    json_t *holders = json_array(), *lenders = json_array();
    char key[LEASE_KEY_MAX];

    for (size_t i = 0; i < count->job_count; i++)
        json_array_append_new(holders, json_null());
    for (size_t i = 0; i < count->job_count; i++) {
        lease_key_prefix(settings, count->jobs[i].job, key);
        key[strlen(key) - 1] = '\0';
        json_array_set_new(holders, count->jobs[i].place, json_string(key));
        if (count->jobs[i].lends)
            json_array_append_new(lenders, json_integer((json_int_t)count->jobs[i].place));
    }
    json_object_set_new(question, "holders", holders);
    json_object_set_new(question, "lenders", lenders);
}

json_t *count_question(const struct slurm_settings *settings, const struct count *count)
{
    char prefix[LEASE_KEY_MAX];
    json_t *requests = json_array(), *waiting = json_array(), *next = json_array(), *question;

    for (size_t i = 0; i < count->class_count; i++) {
        json_array_append(requests, count->classes[i].request);
        if (count->classes[i].waiting)
            json_array_append_new(waiting, json_integer((json_int_t)i));
    }
    for (size_t i = 0; i < count->next_count; i++)
        json_array_append_new(next, json_integer(count->next[i]));
    lease_key_prefix(settings, 0, prefix);
    question = json_pack("{s:s, s:o, s:i, s:o, s:o}", "key_prefix", prefix, "requests", requests,
                         "limit", STARTS_AT_ONCE, "waiting", waiting, "next", next);
    if (question)
        ask_about_jobs(settings, count, question);
    return question;
}

static uint64_t count_number_of(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));

    return value > 0 ? (uint64_t)value : 0;
}

static int count_compare_leases(const void *a, const void *b)
{
    const struct count_lease *left = a, *right = b;

    return left->job < right->job ? -1 : left->job > right->job;
}

static int read_leases(const struct slurm_settings *settings, const json_t *list,
                       struct count *count)
{
    struct count_lease *leases = calloc(json_array_size(list) + 1, sizeof(*leases));
    const json_t *entry;
    size_t i, used = 0;

    if (!leases)
        return -ENOMEM;
    json_array_foreach(list, i, entry) {
        struct count_lease lease = {.ending = !strcmp(lease_text(entry, "state"), "ending"),
                                    .away = *lease_text(entry, "suspension"),
                                    .idle = json_is_true(json_object_get(entry, "idle")),
                                    .returning =
                                        !strcmp(lease_text(entry, "suspension"), "returning"),
                                    .gpus = count_number_of(entry, "gpus"),
                                    .memory = count_number_of(entry, "memory"),
                                    .aside_gpus = count_number_of(entry, "aside_gpus"),
                                    .aside_memory = count_number_of(entry, "aside_memory")};
        snprintf(lease.id, sizeof(lease.id), "%s", lease_text(entry, "id"));
        snprintf(lease.not_suspended, sizeof(lease.not_suspended), "%s",
                 lease_text(entry, "not_suspended"));
        if ((lease.gpus || lease.memory || lease.aside_gpus || lease.aside_memory) &&
            lease_key_parse(settings, json_string_value(json_object_get(entry, "key")), &lease.job,
                            &lease.start))
            leases[used++] = lease;
    }
    qsort(leases, used, sizeof(*leases), count_compare_leases);
    free(count->leases);
    count->leases = leases;
    count->lease_count = used;
    return 0;
}

static int read_takes(const json_t *holders, struct count *count)
{
    const json_t *job, *pair;
    size_t place, i;

    free(count->takes);
    count->takes = calloc(count->job_count * count->class_count + 1, sizeof(*count->takes));
    if (!count->takes)
        return -ENOMEM;
    json_array_foreach(holders, place, job) {
        json_array_foreach(job, i, pair) {
            json_int_t class = json_integer_value(json_array_get(pair, 0));
            json_int_t takes = json_integer_value(json_array_get(pair, 1));
            if (json_array_size(pair) == 2 && class >= 0 &&
                class < (json_int_t)count->class_count && takes >= 0)
                count->takes[place * count->class_count + (size_t) class] = (uint32_t)takes;
        }
    }
    return 0;
}

int count_answer(const struct slurm_settings *settings, const json_t *answer, struct count *count)
{
    const json_t *requests = json_object_get(answer, "requests"), *entry;
    const json_t *holders = json_object_get(answer, "holders");
    size_t i;

    if (!json_is_array(json_object_get(answer, "leases")) ||
        json_array_size(requests) != count->class_count ||
        json_array_size(holders) != count->job_count || read_takes(holders, count) < 0)
        return -EPROTO;
    count->known = count_number_of(answer, "known");
    count->gpus = count_number_of(answer, "all_gpus");
    count->memory = count_number_of(answer, "all_memory");
    count->gpus_in_shares = count_number_of(answer, "gpus_in_shares");
    count->memory_in_whole = count_number_of(answer, "memory_in_whole");
    count->lent_gpus = count->lent_memory = 0;
    json_array_foreach(requests, i, entry) {
        count->classes[i].total = (uint32_t)count_number_of(entry, "total");
        count->classes[i].each = (uint32_t)count_number_of(entry, "each");
        count->classes[i].possible = json_is_true(json_object_get(entry, "ever"));
    }
    return read_leases(settings, json_object_get(answer, "leases"), count);
}

// ---- leases of jobs ----

// A job's start may be put off after its lease was taken (nodes that had to be powered up).
static bool count_is_of(const struct count_lease *lease, time_t start)
{
    return lease->start == start || (lease->start < start && !lease->ending);
}

// The next after `lease`, or the first after NULL.
static const struct count_lease *next_lease(const struct count *count, uint32_t job, time_t start,
                                            const struct count_lease *lease)
{
    const struct count_lease key = {.job = job}, *end = count->leases + count->lease_count;

    if (lease) {
        lease++;
    } else if (count->lease_count) {
        lease = bsearch(&key, count->leases, count->lease_count, sizeof(key), count_compare_leases);
        while (lease && lease > count->leases && lease[-1].job == job)
            lease--;
    }
    while (lease && lease < end && lease->job == job && !count_is_of(lease, start))
        lease++;
    return lease && lease < end && lease->job == job ? lease : NULL;
}

const struct count_lease *count_lease_of(const struct count *count, uint32_t job, time_t start)
{
    return next_lease(count, job, start, NULL);
}

void count_lent(struct count *count, uint32_t job, time_t start, bool lends)
{
    const struct count_lease *lease = NULL;

    while ((lease = next_lease(count, job, start, lease))) {
        if (!lends && (!lease->idle || lease->returning))
            continue;
        count->lent_gpus += lease->aside_gpus;
        count->lent_memory += lease->aside_memory;
    }
}

uint64_t count_units(const struct count *count)
{
    return (count->memory + count->lent_memory) / GPU_SHARE_UNIT;
}

uint64_t count_configured(const char *licenses, const char *name)
{
    size_t length = strlen(name);

    while (licenses && *licenses) {
        if (!strncasecmp(licenses, name, length) &&
            (licenses[length] == ':' || licenses[length] == '='))
            return strtoull(licenses + length + 1, NULL, 10);
        licenses += strcspn(licenses, ",;");
        licenses += *licenses != '\0';
    }
    return 0;
}
