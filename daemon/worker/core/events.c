// SPDX-License-Identifier: BSD-3-Clause
// If the link is down, the thread that reads it detects that.
#include "daemon/worker/core/events.h"

#include <string.h>

#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/core/session.h"

static uint32_t padded(uint32_t size)
{
    return (size + 7) & ~7u;
}

// Room for an event of SIZE and INSIDE bytes, of which the first are written. NULL: the link is
// down.
static struct wire_event *events_begin(enum wire_event_kind kind, const void *body, uint32_t size,
                                       uint32_t inside, uint32_t bytes)
{
    uint32_t whole = (uint32_t)sizeof(struct wire_event) + padded(size + inside);
    struct wire_event *event = link_reserve(session.link, whole);

    if (!event)
        return NULL;
    *event = (struct wire_event){.size = whole, .kind = (uint16_t)kind, .bytes = bytes};
    memcpy(event + 1, body, size);
    memset((uint8_t *)event + whole - (-(size + inside) & 7), 0, -(size + inside) & 7);
    return event;
}

void event_send(enum wire_event_kind kind, const void *body, uint32_t size, uint32_t bytes)
{
    if (events_begin(kind, body, size, 0, bytes))
        link_commit_flush(session.link);
}

void event_send_error_text(const char *text, uint32_t bytes)
{
    struct wire_event *event = events_begin(EVENT_PRINT, text, bytes, 0, bytes);

    if (!event)
        return;
    event->flags = WIRE_PRINT_ERROR;
    link_commit_flush(session.link);
}

void event_send_ahead(enum wire_event_kind kind, const void *body, uint32_t size, const void *data,
                      uint32_t bytes)
{
    struct wire_event *event = events_begin(kind, body, size, bytes, bytes);

    if (!event)
        return;
    memcpy((uint8_t *)(event + 1) + size, data, bytes);
    link_commit_ahead(session.link);
}
