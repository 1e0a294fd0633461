// SPDX-License-Identifier: BSD-3-Clause
// Events to the client that are not replies. Any thread sends them; a link that is down is the
// reading thread's matter.
#include "worker/events.h"

#include <string.h>

#include "proto/wire.h"
#include "transport/link.h"
#include "worker/session.h"

void event_send(enum wire_event_kind kind, const void *body, uint32_t size, uint32_t bytes)
{
    uint32_t whole = (uint32_t)sizeof(struct wire_event) + ((size + 7) & ~7u);
    struct wire_event *event = link_reserve(session.link, whole);

    if (!event)
        return;
    *event = (struct wire_event){.size = whole, .kind = (uint16_t)kind, .bytes = bytes};
    memcpy(event + 1, body, size);
    memset((uint8_t *)(event + 1) + size, 0, -size & 7);
    link_commit_flush(session.link);
}
