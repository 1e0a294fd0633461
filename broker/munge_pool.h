// SPDX-License-Identifier: BSD-3-Clause
// munge beside the event loop: munged may be slow, or hang for many seconds, and each question to it
// blocks. A few threads ask; what they hear comes back in the event loop's thread.
#ifndef RGPU_BROKER_MUNGE_POOL_H
#define RGPU_BROKER_MUNGE_POOL_H

#include <event2/event.h>
#include <munge.h>
#include <stddef.h>
#include <sys/types.h>

struct munge_pool;
struct munge_job;

// Takes over `context`. NULL: no memory, or no threads.
struct munge_pool *munge_pool_new(struct event_base *base, munge_ctx_t context);
// Nothing is called any more. Threads that munged keeps waiting are left behind.
void munge_pool_free(struct munge_pool **pool);

struct munge_result {
    munge_err_t code;
    const char *text; // what was sealed
    size_t size;
    uid_t uid; // who made the credential
};

typedef void (*munge_done)(void *argument, const struct munge_result *result);

// Calls `done` once, later, unless cancelled. NULL: too many questions wait already.
struct munge_job *munge_pool_decode(struct munge_pool *pool, const char *credential,
                                    munge_done done, void *argument);
void munge_job_cancel(struct munge_job **job);

#endif
