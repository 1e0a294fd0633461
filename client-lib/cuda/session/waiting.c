// SPDX-License-Identifier: BSD-3-Clause
// Waits for events of the worker: one thread at a time reads the link and distributes the events.
#include "client-lib/cuda/session/waiting.h"

#include "client-lib/cuda/report/watch.h"
#include "client-lib/cuda/session/incoming.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/quiet_thread.h"
#include "common/base/scope.h"

enum { LATER_US = 1000 };

uint32_t session_prepare(struct box_session *session, struct waiter *waiter)
{
    uint32_t call = 0;
    pthread_cond_init(&waiter->changed, NULL);
    SCOPED_LOCK(&session->lock);
    for (int i = 0; i < SESSION_CALLS && !call; i++) {
        uint32_t next = ++session->next_call;
        if (next && !session->calls[next % SESSION_CALLS])
            call = next;
    }
    if (call) {
        session->calls[call % SESSION_CALLS] = waiter;
        waiter->next = session->waiting;
        session->waiting = waiter;
    }
    return call;
}

static void unlink_waiter(struct box_session *session, struct waiter *waiter)
{
    for (struct waiter **at = &session->waiting; *at; at = &(*at)->next) {
        if (*at == waiter) {
            *at = waiter->next;
            break;
        }
    }
}

// Receives one event with the lock released. The caller has set `receiving`.
static void receive_one(struct box_session *session)
{
    // A thread of the program that wants to read wakes the service thread. A thread of the program
    // that reads is never woken.
    int timeout = session->service_receiving ? -1 : LINK_UNINTERRUPTIBLE;
    pthread_mutex_unlock(&session->lock);
    int size = link_receive(session->link, session->record, sizeof(session->record), timeout);
    if (size > 0)
        incoming_handle(session, (uint32_t)size);
    else if (size < 0)
        session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE, link_error(session->link));
    if (session_lost(
            session)) // waiting threads go on, so no other thread may still write to their memory
        incoming_settle(session);
    pthread_mutex_lock(&session->lock);
    session->receipts++;
}

// Returns true if only the service thread can read the expected events, and cannot wait a moment.
static bool service_is_due(const struct box_session *session)
{
    return (session->expecting > session->later || session->crowded) && !session->receiving &&
           !session->waiting;
}

// If threads still wait, one of them must read after the reading thread has what it wanted.
static void waiting_pass_on(struct box_session *session)
{
    if (session->waiting)
        pthread_cond_signal(&session->waiting->changed);
    else if (service_is_due(session) || (session->later && session->service_sleeps))
        pthread_cond_signal(&session->service_needed);
}

void session_wait(struct box_session *session, struct waiter *waiter)
{
    SCOPED_LOCK(&session->lock);
    while (!waiter->done && !session_lost(session)) {
        if (!session->receiving) {
            session->receiving = true;
            while (!waiter->done && !session_lost(session))
                receive_one(session);
            session->receiving = false;
        } else {
            if (session->service_receiving)
                link_interrupt(session->link);
            pthread_cond_wait(&waiter->changed, &session->lock);
        }
    }
    if (!waiter->done)
        waiter->result = session_lost(session);
    unlink_waiter(session, waiter);
    for (int i = 0; !waiter->done && i < SESSION_CALLS; i++)
        if (session->calls[i] == waiter)
            session->calls[i] = NULL;
    if (!session->receiving)
        waiting_pass_on(session);
    pthread_cond_destroy(&waiter->changed);
}

bool session_take_credit(struct box_session *session)
{
    struct waiter waiter = {0};
    uint64_t began = watch_begin();
    SCOPED_LOCK(&session->lock);
    while (!session->credits && !session_lost(session)) {
        if (!session->receiving) {
            session->receiving = true;
            while (!session->credits && !session_lost(session))
                receive_one(session);
            session->receiving = false;
            waiting_pass_on(session);
        } else {
            pthread_cond_init(&waiter.changed, NULL);
            waiter.next = session->waiting;
            session->waiting = &waiter;
            if (session->service_receiving)
                link_interrupt(session->link);
            pthread_cond_wait(&waiter.changed, &session->lock);
            unlink_waiter(session, &waiter);
            pthread_cond_destroy(&waiter.changed);
        }
    }
    watch_wait_end(WATCH_WAIT_ROOM, began);
    bool taken = session->credits > 0 && !session_lost(session);
    if (taken)
        session->credits--;
    return taken;
}

void session_take_pending(struct box_session *session)
{
    SCOPED_LOCK(&session->lock);
    if (session->receiving || session_lost(session))
        return;
    session->receiving = true;
    while (!session_lost(session) && link_pending(session->link))
        receive_one(session);
    session->receiving = false;
    waiting_pass_on(session);
}

void session_await_acknowledged(struct box_session *session, const struct link_ahead *ahead,
                                size_t most)
{
    SCOPED_LOCK(&session->lock);
    if (session->receiving || session_lost(session))
        return;
    session->receiving = true;
    while (!session_lost(session) && link_tcp_unacknowledged(session->link, ahead) > most)
        receive_one(session);
    session->receiving = false;
    waiting_pass_on(session);
}

void session_add_pull(struct box_session *session, struct pending_pull *pull)
{
    SCOPED_LOCK(&session->lock);
    pull->job = ++session->next_job;
    pull->next = session->pulls;
    session->pulls = pull;
    if (pull->waiter) {
        pthread_cond_init(&pull->waiter->changed, NULL);
        pull->waiter->next = session->waiting;
        session->waiting = pull->waiter;
    }
}

uint32_t session_new_job(struct box_session *session)
{
    SCOPED_LOCK(&session->lock);
    return ++session->next_job;
}

bool session_expecting(struct box_session *session)
{
    return atomic_load_explicit(&session->expecting, memory_order_relaxed) != 0;
}

void session_drop_pull(struct box_session *session, struct pending_pull *pull)
{
    SCOPED_LOCK(&session->lock);
    for (struct pending_pull **at = &session->pulls; *at; at = &(*at)->next) {
        if (*at == pull) {
            *at = pull->next;
            break;
        }
    }
    if (pull->waiter) {
        unlink_waiter(session, pull->waiter);
        pthread_cond_destroy(&pull->waiter->changed);
    }
}

static void serve_one(struct box_session *session)
{
    session->receiving = session->service_receiving = true;
    session->crowded = false;
    receive_one(session);
    session->receiving = session->service_receiving = false;
    if (session->waiting)
        waiting_pass_on(session);
}

// Waits a moment. Returns true if no thread has read the link meanwhile although events are
// expected.
static bool left_alone(struct box_session *session, bool *in_use)
{
    unsigned int before = session->receipts;
    clock_wait(&session->service_needed, &session->lock, LATER_US);
    *in_use = session->receipts != before;
    return session->later && !*in_use && !session->receiving && !session->waiting;
}

// Reads expected events while no thread of the program does. As long as the program reads by
// itself, this thread is not woken for events that can wait, but checks from time to time.
static void *serve_events(void *argument)
{
    struct box_session *session = argument;
    bool in_use = false;
    SCOPED_LOCK(&session->lock);
    while (!session_lost(session)) {
        if (service_is_due(session)) {
            serve_one(session);
        } else if (session->later || in_use) {
            if (left_alone(session, &in_use))
                serve_one(session);
        } else {
            session->service_sleeps = true;
            pthread_cond_wait(&session->service_needed, &session->lock);
            session->service_sleeps = false;
        }
    }
    return NULL;
}

// The caller holds the lock.
static void start_service(struct box_session *session)
{
    pthread_t thread;
    if (session->service_started)
        return;
    if (quiet_thread_start(&thread, serve_events, session) == 0) {
        pthread_detach(thread);
        session->service_started = true;
    } else {
        log_error("cannot start a thread box=%s", session->box);
    }
}

void session_expect(struct box_session *session, int change)
{
    SCOPED_LOCK(&session->lock);
    session->expecting += (unsigned int)change;
    if (change > 0) {
        start_service(session);
        pthread_cond_signal(&session->service_needed);
    }
}

void session_expect_later(struct box_session *session, int change)
{
    SCOPED_LOCK(&session->lock);
    session->expecting += (unsigned int)change;
    session->later += (unsigned int)change;
    if (change > 0) {
        start_service(session);
        if (session->service_sleeps)
            pthread_cond_signal(&session->service_needed);
    }
}

void session_take_acknowledgements(struct box_session *session)
{
    SCOPED_LOCK(&session->lock);
    session->crowded = true;
    start_service(session);
    if (session->service_sleeps)
        pthread_cond_signal(&session->service_needed);
}
