// SPDX-License-Identifier: BSD-3-Clause
// Handles the data that a worker sends. The worker is not trusted with this process's memory: every
// size is checked against the program's request.
#include "client-lib/cuda/session/incoming.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"

static void malformed_event(struct box_session *session, const char *what)
{
    session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE, what);
}

// Returns false if the reply answers no call, or has the wrong size.
static bool incoming_take_reply(struct box_session *session, const struct wire_event *event,
                                const uint8_t *body, uint32_t size)
{
    SCOPED_LOCK(&session->lock);
    struct waiter *waiter = session->calls[event->call % SESSION_CALLS];
    session->calls[event->call % SESSION_CALLS] = NULL;
    if (!waiter)
        return false;
    waiter->result = (CUresult)event->result;
    waiter->deferred = (CUresult)event->deferred;
    size_t fixed = event->result == CUDA_SUCCESS ? waiter->reply_size : 0;
    size_t bytes = event->bytes;
    if (fixed > size || bytes > size - fixed || bytes > waiter->bytes_room)
        return false;
    if (fixed)
        memcpy(waiter->reply, body, fixed);
    if (bytes)
        memcpy(waiter->bytes, body + fixed, bytes);
    waiter->bytes_used = bytes;
    waiter->done = true;
    pthread_cond_signal(&waiter->changed);
    return true;
}

static void handle_reply(struct box_session *session, const struct wire_event *event,
                         const uint8_t *body, uint32_t size)
{
    if (!incoming_take_reply(session, event, body, size))
        malformed_event(session, "a reply that answers no call, or of the wrong size");
}

static struct pending_pull *find_pull(struct box_session *session, uint32_t job)
{
    SCOPED_LOCK(&session->lock);
    struct pending_pull *pull = session->pulls;
    while (pull && pull->job != job)
        pull = pull->next;
    return pull;
}

static void handle_data(struct box_session *session, const struct wire_data *data)
{
    struct pending_pull *pull = find_pull(session, data->job);
    if (!pull || data->offset > pull->size || data->size > pull->size - data->offset) {
        malformed_event(session, "data that was not asked for");
        return;
    }
    if (link_receive_bulk_ahead(session->link, pull->destination + data->offset, data->size,
                                &session->data_ahead) < 0)
        malformed_event(session, link_error(session->link));
}

void incoming_settle(struct box_session *session)
{
    link_settle(session->link, &session->data_ahead);
    session->data_ahead = (struct link_ahead){0};
}

// Ends a pull. If a thread waits for it, that thread now owns it; otherwise *OURS becomes the pull.
// False: there is no such pull.
static bool end_pull(struct box_session *session, const struct wire_job_end *end,
                     struct pending_pull **ours)
{
    SCOPED_LOCK(&session->lock);
    struct pending_pull **at = &session->pulls;
    while (*at && (*at)->job != end->job)
        at = &(*at)->next;
    struct pending_pull *pull = *at;
    if (!pull)
        return false;
    *at = pull->next;
    if (pull->waiter) {
        pull->waiter->result = (CUresult)end->result;
        pull->waiter->done = true;
        pthread_cond_signal(&pull->waiter->changed);
    } else {
        session->expecting--;
        session->later -= pull->later;
        *ours = pull;
    }
    return true;
}

static void handle_pulled(struct box_session *session, const struct wire_job_end *end)
{
    SCOPED_FREE struct pending_pull *pull = NULL;
    if (!end_pull(session, end, &pull))
        malformed_event(session, "the end of a copy that was not asked for");
}

// The data of a small copy follow the body within the record.
static bool handle_small_pull(struct box_session *session, const struct wire_event *event,
                              const uint8_t *body, uint32_t size)
{
    const struct wire_job_end *end = (const void *)body;
    if (size < sizeof(*end) || event->bytes > size - sizeof(*end))
        return false;
    struct pending_pull *pull = find_pull(session, end->job);
    if (!pull || pull->size != event->bytes)
        return false;
    memcpy(pull->destination, end + 1, event->bytes);
    handle_pulled(session, end);
    return true;
}

// Handles host functions and copies of graphs. The bytes of a copy follow the body within the
// record.
static bool handle_callback(struct box_session *session, const struct wire_event *event,
                            const uint8_t *body, uint32_t size)
{
    const struct wire_callback *callback = (const void *)body;
    if (size < sizeof(*callback) || event->bytes > size - sizeof(*callback))
        return false;
    session_listener->graph_calls(session, (enum wire_event_kind)event->kind, callback,
                                  callback + 1, event->bytes);
    return true;
}

// Takes in a frame that this process passes on to another box.
static void handle_peer_frame(struct box_session *session, const struct wire_peer_frame *frame)
{
    SCOPED_FREE void *payload = frame->bytes <= WIRE_BLOCK_SIZE ? malloc(frame->bytes + 1) : NULL;
    if (!payload || (frame->bytes && frame->kind != PEER_DATA && frame->kind != PEER_PUT))
        malformed_event(session,
                        "data for another box that cannot be right, or memory has run out");
    else if (frame->bytes && link_receive_bulk(session->link, payload, frame->bytes) < 0)
        malformed_event(session, link_error(session->link));
    else
        session_listener->peer_frame(session, frame, scoped_take(&payload));
}

static void handle_credit(struct box_session *session, const struct wire_credit *credit)
{
    SCOPED_LOCK(&session->lock);
    session->credits += credit->blocks;
    for (struct waiter *w = session->waiting; w; w = w->next)
        pthread_cond_signal(&w->changed);
}

void incoming_handle(struct box_session *session, uint32_t size)
{
    const struct wire_event *event = (const void *)session->record;
    const uint8_t *body = session->record + sizeof(*event);
    if (size < sizeof(*event)) {
        malformed_event(session, "an event shorter than its header");
        return;
    }
    size -= (uint32_t)sizeof(*event);
    // Any other event may report that the data before it have arrived.
    if (event->kind != EVENT_DATA)
        incoming_settle(session);

    uint32_t needed = 0;
    switch ((enum wire_event_kind)event->kind) {
    case EVENT_REPLY: handle_reply(session, event, body, size); return;
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
            session_listener->data_wanted(session,
                                          ((const struct wire_wanted *)(const void *)body)->job);
            return;
        }
        break;
    case EVENT_REACHED:
        needed = sizeof(struct wire_reached);
        if (size >= needed) {
            session_listener->event_reached(session, (const void *)body);
            return;
        }
        break;
    case EVENT_GRAPH_WANTED:
    case EVENT_GRAPH_DATA:
    case EVENT_GRAPH_GONE:
    case EVENT_GRAPH_BLOCK:
        if (handle_callback(session, event, body, size))
            return;
        break;
    case EVENT_PEER_FRAME:
        needed = sizeof(struct wire_peer_frame);
        if (size >= needed) {
            handle_peer_frame(session, (const void *)body);
            return;
        }
        break;
    case EVENT_PEER_OVER:
        needed = sizeof(struct wire_peer_over);
        if (size >= needed) {
            session_listener->peer_over(session, (const void *)body);
            return;
        }
        break;
    case EVENT_PULLED_SMALL:
        if (handle_small_pull(session, event, body, size))
            return;
        break;
    case EVENT_HOST_FUNCTION:
        needed = sizeof(struct wire_host_function);
        if (size >= needed) {
            session_listener->host_function_due(session, (const void *)body);
            return;
        }
        break;
    }
    malformed_event(session, "an event that makes no sense");
}
