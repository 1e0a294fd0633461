// Handing out what a worker sends. The worker is not trusted with this process's memory: every
// size is checked against what the program asked for.
#include "client-lib/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/crossing.h"
#include "client-lib/host_function.h"
#include "client-lib/late_push.h"
#include "common/log.h"

static void malformed(struct session *session, const char *what)
{
    session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE, what);
}

static void handle_reply(struct session *session, const struct wire_event *event,
                         const uint8_t *body, uint32_t size)
{
    pthread_mutex_lock(&session->lock);
    struct waiter *waiter = session->calls[event->call % SESSION_CALLS];
    session->calls[event->call % SESSION_CALLS] = NULL;
    bool fits = waiter != NULL;
    if (waiter) {
        waiter->result = (CUresult)event->result;
        waiter->deferred = (CUresult)event->deferred;
        size_t fixed = event->result == CUDA_SUCCESS ? waiter->reply_size : 0;
        size_t bytes = event->bytes;
        fits = fixed <= size && bytes <= size - fixed && bytes <= waiter->bytes_room;
        if (fits) {
            if (fixed)
                memcpy(waiter->reply, body, fixed);
            if (bytes)
                memcpy(waiter->bytes, body + fixed, bytes);
            waiter->bytes_used = bytes;
            waiter->done = true;
            pthread_cond_signal(&waiter->changed);
        }
    }
    pthread_mutex_unlock(&session->lock);
    if (!fits)
        malformed(session, "a reply that answers no call, or of the wrong size");
}

static struct pull *find_pull(struct session *session, uint32_t job)
{
    struct pull *pull = session->pulls;
    while (pull && pull->job != job)
        pull = pull->next;
    return pull;
}

static void handle_data(struct session *session, const struct wire_data *data)
{
    pthread_mutex_lock(&session->lock);
    struct pull *pull = find_pull(session, data->job);
    pthread_mutex_unlock(&session->lock);
    if (!pull || data->offset > pull->size || data->size > pull->size - data->offset) {
        malformed(session, "data that was not asked for");
        return;
    }
    if (link_receive_bulk(session->link, pull->destination + data->offset, data->size) < 0)
        malformed(session, link_error(session->link));
}

static void handle_pulled(struct session *session, const struct wire_job_end *end)
{
    pthread_mutex_lock(&session->lock);
    struct pull **at = &session->pulls;
    while (*at && (*at)->job != end->job)
        at = &(*at)->next;
    struct pull *pull = *at;
    struct waiter *waiter = NULL;
    if (pull) {
        *at = pull->next;
        waiter = pull->waiter;
        if (waiter) {
            waiter->result = (CUresult)end->result;
            waiter->done = true;
            pthread_cond_signal(&waiter->changed);
        } else {
            session->expecting--;
        }
    }
    pthread_mutex_unlock(&session->lock);
    if (!pull)
        malformed(session, "the end of a copy that was not asked for");
    else if (!waiter)
        free(pull);
}

static void handle_credit(struct session *session, const struct wire_credit *credit)
{
    pthread_mutex_lock(&session->lock);
    session->credits += credit->blocks;
    for (struct waiter *w = session->waiting; w; w = w->next)
        pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&session->lock);
}

void events_handle(struct session *session, uint32_t size)
{
    const struct wire_event *event = (const void *)session->record;
    const uint8_t *body = session->record + sizeof(*event);
    if (size < sizeof(*event)) {
        malformed(session, "an event shorter than its header");
        return;
    }
    size -= (uint32_t)sizeof(*event);

    uint32_t needed = 0;
    switch ((enum wire_event_kind)event->kind) {
    case EVENT_REPLY:
        handle_reply(session, event, body, size);
        return;
    case EVENT_PRINT:
        if (event->bytes <= size) {
            fwrite(body, 1, event->bytes, stdout);
            fflush(stdout);
            return;
        }
        break;
    case EVENT_ENDING:
        if (size && memchr(body, 0, size)) {
            session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE, (const char *)body);
            return;
        }
        break;
    case EVENT_DATA:
        needed = sizeof(struct wire_data);
        if (size >= needed) {
            handle_data(session, (const void *)body);
            return;
        }
        break;
    case EVENT_CREDIT:
        needed = sizeof(struct wire_credit);
        if (size >= needed) {
            handle_credit(session, (const void *)body);
            return;
        }
        break;
    case EVENT_PULLED:
        needed = sizeof(struct wire_job_end);
        if (size >= needed) {
            handle_pulled(session, (const void *)body);
            return;
        }
        break;
    case EVENT_WANTED:
        needed = sizeof(struct wire_wanted);
        if (size >= needed) {
            late_push_due(session, ((const struct wire_wanted *)(const void *)body)->job);
            return;
        }
        break;
    case EVENT_REACHED:
        needed = sizeof(struct wire_reached);
        if (size >= needed) {
            crossing_reached(session, (const void *)body);
            return;
        }
        break;
    case EVENT_HOST_FUNCTION:
        needed = sizeof(struct wire_host_function);
        if (size >= needed) {
            host_function_due(session, (const void *)body);
            return;
        }
        break;
    }
    malformed(session, "an event that makes no sense");
}
