// SPDX-License-Identifier: BSD-3-Clause
#include "worker/peer/peer_link.h"

#include <stdlib.h>

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

CUresult peer_link_add(uint32_t number)
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
    link->next = peer_links;
    peer_links = link;
    link_count++;
    return CUDA_SUCCESS;
}

void peer_link_send(struct peer_link *link, struct wire_peer_frame frame, const void *payload)
{
    struct {
        struct wire_event event;
        struct wire_peer_frame frame;
    } record = {.event = {.size = sizeof(record), .kind = EVENT_PEER_FRAME}, .frame = frame};

    record.frame.size = sizeof(record.frame);
    record.frame.peer = link->number;
    // A link to the client that is down is the reading thread's matter.
    if (link_send_bulk(session.link, &record, sizeof(record), payload, frame.bytes))
        log_debug("a frame of peer=%u was not sent", link->number);
}
