// SPDX-License-Identifier: BSD-3-Clause
#include "worker/peer/peer_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "transport/link.h"
#include "worker/session.h"

struct peer_link *peer_links;
static unsigned link_count;

struct peer_link *peer_link_find(uint32_t number)
{
    struct peer_link *link = peer_links;

    while (link && link->number != number)
        link = link->next;
    return link;
}

// What the client says is shown to administrators.
static void keep_text(char *text, size_t room, const char *from, size_t size)
{
    snprintf(text, room, "%.*s", (int)size, from);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f || *c == '"')
            *c = '?';
}

CUresult peer_link_add(uint32_t number, const void *name, size_t size)
{
    if (peer_link_find(number) || link_count == PEER_LINKS_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    struct peer_link *link = calloc(1, sizeof(*link));
    if (!link || peer_blocks_make(&link->blocks)) {
        free(link);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    link->number = number;
    link->credits = PEER_IN_BLOCKS; // as many as the other end has
    keep_text(link->name, sizeof(link->name), name, size);
    link->next = peer_links;
    peer_links = link;
    link_count++;
    return CUDA_SUCCESS;
}

void peer_link_relay(struct peer_link *link, const void *reason, size_t size)
{
    keep_text(link->reason, sizeof(link->reason), reason, size);
    peer_link_stands(link, PEER_RELAYED);
}

void peer_links_tell(void)
{
    char text[1024] = "";

    for (const struct peer_link *link = peer_links; link; link = link->next) {
        size_t used = strlen(text);
        const char *by = link->state == PEER_DIRECT    ? link->privacy ? "tcp, encrypted" : "tcp"
                         : link->state == PEER_RELAYED ? "client"
                                                       : "none yet";
        snprintf(text + used, sizeof(text) - used, "%s%s by %s%s%s%s%s", used ? "; " : "",
                 link->name, link->reaches ? "gpu memory, " : "", by, *link->reason ? " (" : "",
                 link->reason, *link->reason ? ")" : "");
    }
    session_set_links(text);
}

void peer_link_stands(struct peer_link *link, enum peer_state state)
{
    link->state = state;
    log_info("link with box=\"%s\" by=%s %s%s", link->name, state == PEER_DIRECT ? "tcp" : "client",
             *link->reason ? "reason=" : "at=", *link->reason ? link->reason : link->address);
    peer_links_tell();
    pthread_cond_broadcast(&peer_mover.ended);
    pthread_cond_signal(&peer_mover.added);
}

static int relay(const struct peer_link *link, const struct wire_peer_frame *frame,
                 const void *payload)
{
    struct {
        struct wire_event event;
        struct wire_peer_frame frame;
    } record = {.event = {.size = sizeof(record), .kind = EVENT_PEER_FRAME}, .frame = *frame};

    return link_send_bulk(session.link, &record, sizeof(record), payload, frame->bytes);
}

bool peer_link_send(struct peer_link *link, struct wire_peer_frame frame, const void *payload)
{
    frame.size = sizeof(frame);
    frame.peer = link->number;
    // A link to the client that is down is the reading thread's matter.
    if (!link->direct)
        return relay(link, &frame, payload) == 0;
    return link_send_bulk(link->direct, &frame, sizeof(frame), payload, frame.bytes) == 0 &&
           link_flush(link->direct) == 0;
}
