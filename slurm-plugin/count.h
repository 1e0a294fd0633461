// SPDX-License-Identifier: GPL-2.0-or-later
// Converts the broker's capacity to the counts that Slurm uses: whole GPUs, memory of shares, and
// the number of jobs of each class that the pool has room for (gpu_request_class). Totals are of
// a pool in which this cluster's jobs hold nothing; what they hold is used up in their own lists of
// licences, from which the scheduler knows when it comes back. Includes none of Slurm's headers.
#ifndef RGPU_SLURM_COUNT_H
#define RGPU_SLURM_COUNT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "slurm-plugin/job_request.h"
#include "slurm-plugin/plugin_settings.h"

// Each round queries the broker for each class, so the number of classes is limited, in total and
// for each user: no fewer than eight users can use up all classes. One more is that of any GPUs.
#define COUNT_CLASSES_MAX (8 * COUNT_CLASSES_OF_USER + 1)
#define COUNT_CLASSES_OF_USER 16
#define COUNT_NEXT_MAX 4

struct count_class {
    char name[GPU_CLASS_MAX];
    uint32_t owner; // the user whose job asked first
    json_t *request;
    double wanted;  // monotonic seconds, when a job last asked
    bool possible;  // in a pool with everything in service
    bool waiting;   // a job of it waits
    uint32_t total; // jobs that could run if this cluster's jobs held nothing
};

// A job that holds GPUs or takes some just now.
struct count_job {
    uint32_t job;
    time_t start, end;
    bool lends;   // others may use the GPUs that its lease has given back
    size_t place; // in the order of ends, the last end first
};

// The resources of one lease of this cluster.
struct count_lease {
    uint32_t job;
    time_t start;
    char id[48];
    bool ending;
    bool away;      // it must leave its GPUs, or is not yet back
    bool returning; // that is ordered
    bool idle;      // away by itself, until its program asks for something
    uint64_t gpus, memory;
    uint64_t aside_gpus, aside_memory; // what its suspended lease has given back
    char not_suspended[160];           // why it could not be
};

// One look at the pool.
struct count {
    uint64_t known;        // GPUs of the pool, in service or not
    uint64_t gpus, memory; // that there would be if this cluster's jobs held nothing
    // GPUs of these that shares keep from being whole, and memory that whole GPUs keep from shares
    uint64_t gpus_in_shares, memory_in_whole;
    uint64_t lent_gpus, lent_memory;
    struct count_class classes[COUNT_CLASSES_MAX];
    size_t class_count;
    uint32_t next[COUNT_NEXT_MAX]; // classes of the jobs that are next, none of which any GPU suits
    size_t next_count;
    struct count_job *jobs; // sorted by job
    size_t job_count;
    uint32_t *takes;            // for each job by its place, how much it takes of each class
    struct count_lease *leases; // sorted by job
    size_t lease_count;
};

// Adds a class that a job asks for, or notes that one does. NULL: too many, or no memory.
struct count_class *count_want(struct count *count, const struct gpu_request *request,
                               uint32_t nodes, double now);
struct count_class *count_find(struct count *count, const char *name);
// Returns why no job of OWNER may ask for a class that is not known yet, or NULL.
const char *count_refusal(const struct count *count, uint32_t owner);
// Forgets classes without a request since `before`.
void count_forget(struct count *count, double before);

// Adds a job, and sorts them once all are there. Without memory the job is left out.
void count_add_job(struct count *count, uint32_t job, time_t start, time_t end, bool lends);
void count_sort_jobs(struct count *count);
// NULL: the job did not hold GPUs, in this run, when the question was asked.
const struct count_job *count_job_of(const struct count *count, uint32_t job, time_t start);
// Returns how much the job takes of a class.
uint32_t count_takes(const struct count *count, const struct count_job *job, size_t class);

// The body of the question. NULL: no memory.
json_t *count_question(const struct slurm_settings *settings, const struct count *count);
// Reads the answer into COUNT, and sets the lent GPUs to zero. -EPROTO: the answer is invalid.
int count_answer(const struct slurm_settings *settings, const json_t *answer, struct count *count)
    __attribute__((warn_unused_result));
// Adds what a job lends. A job that is suspended until an explicit resume lends the GPUs that its
// lease has given back: its licences count as used, so the total is raised by the same number.
void count_lent(struct count *count, uint32_t job, time_t start, bool lends);
// The lease of a job's run, or NULL.
const struct count_lease *count_lease_of(const struct count *count, uint32_t job, time_t start);

void count_clear(struct count *count);

// Returns the total for the licence: units of shares.
uint64_t count_units(const struct count *count);
// The count of `name` in slurm.conf's "a:1,b:2"; 0 where it has none.
uint64_t count_configured(const char *licenses, const char *name);

#endif
