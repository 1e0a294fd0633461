// SPDX-License-Identifier: BSD-3-Clause
// Decodes munge credentials in a few threads, because a decode blocks and munged may hang for
// seconds. Results are delivered in the event loop's thread, which must call all functions here.
#ifndef RGPU_BROKER_MUNGE_POOL_H
#define RGPU_BROKER_MUNGE_POOL_H

#include <event2/event.h>
#include <munge.h>
#include <stddef.h>
#include <sys/types.h>

struct munge_pool;
struct munge_job;

// Takes ownership of CONTEXT. Returns NULL if memory is exhausted or no thread can start.
struct munge_pool *munge_pool_new(struct event_base *base, munge_ctx_t context);
// Frees the pool. No callback runs afterwards. Threads that still wait for munged are detached.
void munge_pool_free(struct munge_pool **pool);

struct munge_result {
    munge_err_t code;
    const char *text; // payload of the credential
    size_t size;
    uid_t uid; // creator of the credential
};

typedef void (*munge_done)(void *argument, const struct munge_result *result);

// Starts to decode CREDENTIAL, which is copied. Calls `done` once, after this function has
// returned, unless the job is cancelled. Returns NULL if too many decodes are pending.
struct munge_job *munge_pool_decode(struct munge_pool *pool, const char *credential,
                                    munge_done done, void *argument);
void munge_job_cancel(struct munge_job **job);

#endif
