// SPDX-License-Identifier: BSD-3-Clause
// Runs munge queries in a few threads, because munged may be slow or hang for many seconds and each
// query blocks. Results arrive in the event loop's thread.
#ifndef RGPU_BROKER_MUNGE_POOL_H
#define RGPU_BROKER_MUNGE_POOL_H

#include <event2/event.h>
#include <munge.h>
#include <stddef.h>
#include <sys/types.h>

struct munge_pool;
struct munge_job;

// Takes over `context`. Returns NULL without memory or threads.
struct munge_pool *munge_pool_new(struct event_base *base, munge_ctx_t context);
// Calls no callback afterwards. Threads that wait for munged are detached.
void munge_pool_free(struct munge_pool **pool);

struct munge_result {
    munge_err_t code;
    const char *text; // payload of the credential
    size_t size;
    uid_t uid; // creator of the credential
};

typedef void (*munge_done)(void *argument, const struct munge_result *result);

// Calls `done` once, later, unless cancelled. Returns NULL if too many queries wait.
struct munge_job *munge_pool_decode(struct munge_pool *pool, const char *credential,
                                    munge_done done, void *argument);
void munge_job_cancel(struct munge_job **job);

#endif
