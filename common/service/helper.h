// SPDX-License-Identifier: BSD-3-Clause
// Threads beside an event loop for calls that may block: a disk, a daemon that is asked, the close
// of a descriptor. A job waits in a bounded queue, runs in a thread, and ends in the event loop.
#ifndef RGPU_COMMON_HELPER_H
#define RGPU_COMMON_HELPER_H

#include <stdbool.h>
#include <sys/queue.h>

struct helper;

// The first member of what its maker has.
struct helper_job {
    TAILQ_ENTRY(helper_job) link;
    void (*run)(struct helper_job *job); // in a thread
    void (*done)(
        struct helper_job *job); // in the event loop, and frees the job; NULL: `run` frees it
};

// MOST: jobs that wait at a time. NULL: no memory, or no thread.
struct helper *helper_new(unsigned threads, unsigned most);
// Returns a descriptor that is readable when helper_finish has something to do.
int helper_descriptor(const struct helper *helper);
// Calls `done` of the jobs that have run.
void helper_finish(struct helper *helper);
// -EBUSY: too many wait. The job stays the caller's then.
int helper_submit(struct helper *helper, struct helper_job *job)
    __attribute__((warn_unused_result));
// Takes back the first job that still waits and for which IS returns true; NULL: there is none.
struct helper_job *helper_withdraw(struct helper *helper,
                                   bool (*is)(const struct helper_job *job, const void *argument),
                                   const void *argument);
// Waits until all jobs have run, and finishes them.
void helper_drain(struct helper *helper);
// Ends the threads. Queued jobs still run, unless one of them blocks: a thread that blocks for more
// than a second is abandoned with its helper, because the process is about to end.
void helper_free(struct helper **helper);

// Closes FD in a thread that all callers of the process share. It is for descriptors that this
// process made or accepted, and for those whose kind it has checked. Thread-safe.
void close_aside(int fd);
// Closes FD in a thread of its own kind, so that no close_aside() waits for it. It is for
// descriptors of unknown kind from other processes. Their owner can make the close block for any
// time: with a socket that lingers, a file of the owner's own file system, or a socket whose queue
// contains such a descriptor. Thread-safe.
void close_stranger(int fd);

#endif
