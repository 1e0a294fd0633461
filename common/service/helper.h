// SPDX-License-Identifier: BSD-3-Clause
// Threads for calls that would block an event loop, such as disk accesses, queries of daemons, or
// closing a descriptor. A job waits in a bounded queue, runs in a thread, and is completed in the
// event loop. The caller is the event loop's thread unless stated otherwise.
#ifndef RGPU_COMMON_HELPER_H
#define RGPU_COMMON_HELPER_H

#include <stdbool.h>
#include <sys/queue.h>

struct helper;

// The first member of the caller's own structure.
struct helper_job {
    TAILQ_ENTRY(helper_job) link;
    void (*run)(struct helper_job *job); // runs in a thread
    // runs in the event loop and frees the job; NULL: `run` frees it
    void (*done)(struct helper_job *job);
};

// MOST: maximum jobs in the queue. Returns NULL if memory is exhausted or no thread can start.
struct helper *helper_new(unsigned threads, unsigned most);
// Returns a descriptor that is readable when helper_finish() has work.
int helper_descriptor(const struct helper *helper);
// Calls `done` of all jobs that have run.
void helper_finish(struct helper *helper);
// Queues a job. Returns 0, or -EBUSY if the queue is full; the caller then keeps the job.
int helper_submit(struct helper *helper, struct helper_job *job)
    __attribute__((warn_unused_result));
// Removes and returns the first queued job for which IS returns true; NULL if there is none.
struct helper_job *helper_withdraw(struct helper *helper,
                                   bool (*is)(const struct helper_job *job, const void *argument),
                                   const void *argument);
// Waits until all jobs have run, and completes them.
void helper_drain(struct helper *helper);
// Runs the queued jobs, stops the threads and frees. If a thread blocks for more than a second, it
// is abandoned with the helper's memory, because the process is about to end.
void helper_free(struct helper **helper);

// Closes FD in a thread that the process shares. For descriptors that this process has created or
// accepted, or whose kind it has checked. Thread-safe.
void close_aside(int fd);
// Closes FD in a separate thread, so that no close_aside() waits for it. For descriptors of unknown
// kind from other processes, which can make the close block for any time: a lingering socket, a
// file of a FUSE file system, or a socket whose queue contains such a descriptor. Thread-safe.
void close_stranger(int fd);

#endif
