// SPDX-License-Identifier: GPL-2.0-or-later
// Converts the broker's capacity to the totals of Slurm's licences: whole GPUs, memory of shares,
// and for each class (gpu_request_class) the number of its jobs that could run. A total is what
// there would be if this cluster's jobs held nothing. What a job holds is in its own list of
// licences, so the scheduler plans with its return at the job's end. Includes none of Slurm's
// headers.
#ifndef RGPU_SLURM_COUNT_H
#define RGPU_SLURM_COUNT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "slurm-plugin/request/job_request.h"
#include "slurm-plugin/base/plugin_settings.h"

// Each round queries the broker for every class, so the number of classes is limited, in total and
// for each user. It takes eight users to use up all. The last class is GPU_CLASS_ANY.
#define COUNT_CLASSES_MAX (8 * COUNT_CLASSES_OF_USER + 1)
#define COUNT_CLASSES_OF_USER 16
#define COUNT_NEXT_MAX 4

struct count_class {
    char name[GPU_CLASS_MAX]; // of the licence
    uint32_t owner;           // id of the user whose job named the class first
    json_t *request;          // as the broker reads it; a reference that count_clear releases
    double wanted;            // time when a job last named the class, in monotonic seconds
    bool possible;            // one job could run if the whole pool was in service and free
    bool waiting;             // a job of the class waits
    uint32_t total;           // jobs that could run if this cluster's jobs held nothing
    uint32_t gpus;            // GPUs of one job, and for GPU_CLASS_ANY of one licence
    uint32_t each;            // licences that one GPU can take away
};

// A job that holds GPUs or is acquiring them.
struct count_job {
    uint32_t job;
    time_t start, end;
    bool lends;   // other jobs may use the GPUs that its lease has given back (preempt_lends)
    size_t place; // index in the order of ends, the latest end first
};

// One lease of this cluster. Memory is in bytes.
struct count_lease {
    uint32_t job;
    time_t start; // of the job, from the lease's key
    char id[48];
    bool ending;           // its sessions are being ended
    bool away;             // it is suspended, or is being suspended or resumed
    bool returning;        // it has been ordered to resume
    bool idle;             // suspended because its program was idle, until the program uses a GPU
    uint64_t gpus, memory; // that it holds: whole GPUs, and memory of shares
    uint64_t aside_gpus, aside_memory; // that it has given back while it is suspended
    char not_suspended[160];           // why its last suspension failed; "" if it did not
};

// One answer of the broker, with the question's classes and jobs. Memory is in bytes.
struct count {
    uint64_t known;        // GPUs of the pool, in service or not
    uint64_t gpus, memory; // totals if this cluster's jobs held nothing
    // GPUs that cannot be granted whole because shares use them, and memory that shares cannot get
    // because whole GPUs are granted
    uint64_t gpus_in_shares, memory_in_whole;
    uint64_t lent_gpus, lent_memory; // given back by suspended leases, for other jobs (count_lent)
    struct count_class classes[COUNT_CLASSES_MAX];
    size_t class_count;
    // indices of the classes of the first waiting jobs, without jobs that any free GPU suits
    uint32_t next[COUNT_NEXT_MAX];
    size_t next_count;
    struct count_job *jobs; // sorted by number
    size_t job_count;
    uint32_t *takes;            // [job_count][class_count], by `place`; read it by count_takes
    struct count_lease *leases; // sorted by number of the job
    size_t lease_count;
};

// Returns the class of a request, and sets its time `wanted` to NOW. Adds the class if it is new.
// The pointer is valid until count_forget or count_clear. Returns NULL if there are too many
// classes or memory is exhausted.
struct count_class *count_want(struct count *count, const struct gpu_request *request,
                               uint32_t nodes, double now);
// Returns the class of this name, or NULL.
struct count_class *count_find(struct count *count, const char *name);
// Returns the reason why no job of the user OWNER may add a class, valid until the thread's next
// call, or NULL if one may.
const char *count_refusal(const struct count *count, uint32_t owner);
// Removes the classes that no job has named since `before`, in monotonic seconds.
void count_forget(struct count *count, double before);

// Adds a job; leaves it out if memory is exhausted.
void count_add_job(struct count *count, uint32_t job, time_t start, time_t end, bool lends);
// Sorts the jobs, after the last one was added.
void count_sort_jobs(struct count *count);
// Returns the job with this number and start, or NULL if it was not in the question.
const struct count_job *count_job_of(const struct count *count, uint32_t job, time_t start);
// Returns the number of licences that the job takes of a class, given by its index.
uint32_t count_takes(const struct count *count, const struct count_job *job, size_t class);

// Returns the end of the job with which jobs that end will have given back NUMBER licences of a
// class, given by its index; 0 if all of them have fewer, or if memory is exhausted.
time_t count_end_that_frees(const struct count *count, size_t class, uint64_t number);

// Returns the body of the request for /v1/capacity, a reference that the caller owns; NULL if
// memory is exhausted.
json_t *count_question(const struct slurm_settings *settings, const struct count *count);
// Reads the broker's answer into COUNT, and sets lent GPUs and memory to zero. Returns 0, -EPROTO
// for an invalid answer, or -ENOMEM.
int count_answer(const struct slurm_settings *settings, const json_t *answer, struct count *count)
    __attribute__((warn_unused_result));
// Adds what the leases of a job's run lend to other jobs. A suspended job's licences still count as
// used, so the total grows by the GPUs and the memory that its lease has given back. If `lends` is
// false, only idle leases count, which return by themselves.
void count_lent(struct count *count, uint32_t job, time_t start, bool lends);
// Returns the first lease of a job's run, valid until the next answer is read; NULL: it has none.
const struct count_lease *count_lease_of(const struct count *count, uint32_t job, time_t start);

// Frees everything in COUNT and sets it to zero.
void count_clear(struct count *count);

// Returns the total for the licence rgpu_mem, in units of GPU_SHARE_UNIT bytes.
uint64_t count_units(const struct count *count);
// Returns the number of the licence `name` in slurm.conf's list "a:1,b:2"; 0 if it is not there.
uint64_t count_configured(const char *licenses, const char *name);

#endif
