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

// Handlers return false if the event cannot be right: then the session ends.

static bool handle_reply(struct box_session *session, const struct wire_event *event,
                         const void *body, uint32_t size)
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
        memcpy(waiter->bytes, (const uint8_t *)body + fixed, bytes);
    waiter->bytes_used = bytes;
    waiter->done = true;
    pthread_cond_signal(&waiter->changed);
    return true;
}

static struct pending_pull *find_pull(struct box_session *session, uint32_t job)
{
    SCOPED_LOCK(&session->lock);
    struct pending_pull *pull = session->pulls;
    while (pull && pull->job != job)
        pull = pull->next;
    return pull;
}

static bool handle_data(struct box_session *session, const struct wire_event *event,
                        const void *body, uint32_t size)
{
    const struct wire_data *data = body;
    struct pending_pull *pull = find_pull(session, data->job);
    if (!pull || data->offset > pull->size || data->size > pull->size - data->offset)
        return false;
    if (link_receive_bulk_ahead(session->link, pull->destination + data->offset, data->size,
                                &session->data_ahead) < 0)
        malformed_event(session, link_error(session->link));
    return true;
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

static bool handle_pulled(struct box_session *session, const struct wire_event *event,
                          const void *body, uint32_t size)
{
    SCOPED_FREE struct pending_pull *pull = NULL;
    return end_pull(session, body, &pull);
}

// The data of a small copy follow the body within the record.
static bool handle_small_pull(struct box_session *session, const struct wire_event *event,
                              const void *body, uint32_t size)
{
    const struct wire_job_end *end = body;
    if (event->bytes > size - sizeof(*end))
        return false;
    struct pending_pull *pull = find_pull(session, end->job);
    if (!pull || pull->size != event->bytes)
        return false;
    memcpy(pull->destination, end + 1, event->bytes);
    return handle_pulled(session, event, body, size);
}

// Handles host functions and copies of graphs. The bytes of a copy follow the body within the
// record.
static bool handle_callback(struct box_session *session, const struct wire_event *event,
                            const void *body, uint32_t size)
{
    const struct wire_callback *callback = body;
    if (event->bytes > size - sizeof(*callback))
        return false;
    session_listener->graph_calls(session, (enum wire_event_kind)event->kind, callback,
                                  callback + 1, event->bytes);
    return true;
}

// Takes in a frame that this process passes on to another box.
static bool handle_peer_frame(struct box_session *session, const struct wire_event *event,
                              const void *body, uint32_t size)
{
    const struct wire_peer_frame *frame = body;
    SCOPED_FREE void *payload = frame->bytes <= WIRE_BLOCK_SIZE ? malloc(frame->bytes + 1) : NULL;
    if (!payload || (frame->bytes && frame->kind != PEER_DATA && frame->kind != PEER_PUT))
        malformed_event(session,
                        "data for another box that cannot be right, or memory has run out");
    else if (frame->bytes && link_receive_bulk(session->link, payload, frame->bytes) < 0)
        malformed_event(session, link_error(session->link));
    else
        session_listener->peer_frame(session, frame, scoped_take(&payload));
    return true;
}

static bool handle_credit(struct box_session *session, const struct wire_event *event,
                          const void *body, uint32_t size)
{
    const struct wire_credit *credit = body;
    SCOPED_LOCK(&session->lock);
    session->credits += credit->blocks;
    for (struct waiter *w = session->waiting; w; w = w->next)
        pthread_cond_signal(&w->changed);
    return true;
}

static bool handle_print(struct box_session *session, const struct wire_event *event,
                         const void *body, uint32_t size)
{
    if (event->bytes > size)
        return false;
    FILE *stream = event->flags & WIRE_PRINT_ERROR ? stderr : stdout;
    fwrite(body, 1, event->bytes, stream);
    fflush(stream);
    return true;
}

static bool handle_ending(struct box_session *session, const struct wire_event *event,
                          const void *body, uint32_t size)
{
    if (!memchr(body, 0, size))
        return false;
    session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE, body);
    return true;
}

static bool handle_wanted(struct box_session *session, const struct wire_event *event,
                          const void *body, uint32_t size)
{
    session_listener->data_wanted(session, ((const struct wire_wanted *)body)->job);
    return true;
}

static bool handle_reached(struct box_session *session, const struct wire_event *event,
                           const void *body, uint32_t size)
{
    session_listener->event_reached(session, body);
    return true;
}

static bool handle_peer_over(struct box_session *session, const struct wire_event *event,
                             const void *body, uint32_t size)
{
    session_listener->peer_over(session, body);
    return true;
}

static bool handle_host_function(struct box_session *session, const struct wire_event *event,
                                 const void *body, uint32_t size)
{
    session_listener->host_function_due(session, body);
    return true;
}

static const struct incoming_kind {
    size_t body; // bytes that it has at least
    bool (*handle)(struct box_session *session, const struct wire_event *event, const void *body,
                   uint32_t size);
} kinds[] = {
    [EVENT_REPLY] = {0, handle_reply},
    [EVENT_PRINT] = {0, handle_print},
    [EVENT_ENDING] = {1, handle_ending},
    [EVENT_DATA] = {sizeof(struct wire_data), handle_data},
    [EVENT_CREDIT] = {sizeof(struct wire_credit), handle_credit},
    [EVENT_PULLED] = {sizeof(struct wire_job_end), handle_pulled},
    [EVENT_PULLED_SMALL] = {sizeof(struct wire_job_end), handle_small_pull},
    [EVENT_WANTED] = {sizeof(struct wire_wanted), handle_wanted},
    [EVENT_REACHED] = {sizeof(struct wire_reached), handle_reached},
    [EVENT_GRAPH_WANTED] = {sizeof(struct wire_callback), handle_callback},
    [EVENT_GRAPH_DATA] = {sizeof(struct wire_callback), handle_callback},
    [EVENT_GRAPH_GONE] = {sizeof(struct wire_callback), handle_callback},
    [EVENT_GRAPH_BLOCK] = {sizeof(struct wire_callback), handle_callback},
    [EVENT_PEER_FRAME] = {sizeof(struct wire_peer_frame), handle_peer_frame},
    [EVENT_PEER_OVER] = {sizeof(struct wire_peer_over), handle_peer_over},
    [EVENT_HOST_FUNCTION] = {sizeof(struct wire_host_function), handle_host_function},
};

void incoming_handle(struct box_session *session, uint32_t size)
{
    const struct wire_event *event = (const void *)session->record;
    if (size < sizeof(*event)) {
        malformed_event(session, "an event shorter than its header");
        return;
    }
    size -= (uint32_t)sizeof(*event);
    // Any other event may report that the data before it have arrived.
    if (event->kind != EVENT_DATA)
        incoming_settle(session);
    const struct incoming_kind *kind =
        event->kind < sizeof(kinds) / sizeof(*kinds) ? &kinds[event->kind] : &kinds[0];
    if (!kind->handle || size < kind->body || !kind->handle(session, event, event + 1, size))
        malformed_event(session, "an event that cannot be right");
}
