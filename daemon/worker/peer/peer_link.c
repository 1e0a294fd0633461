// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/peer_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "transport/link/link.h"
#include "daemon/worker/copy/parts/direct.h"
#include "daemon/worker/core/session.h"

struct mover peer_mover = MOVER();
struct peer_link *peer_links;
static unsigned link_count;

struct peer_link *peer_link_find(uint32_t number)
{
    struct peer_link *link = peer_links;

    while (link && (link->number != number || link->ending))
        link = link->next;
    return link;
}

int peer_mover_start(void)
{
    static bool started;
    int err = started ? 0 : mover_start(&peer_mover);

    direct_start();
    started = !err;
    return err;
}

// The client's text is shown to administrators.
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
    link->base.fd = -1;
    link->credits = PEER_IN_BLOCKS; // as many as the other end has
    keep_text(link->name, sizeof(link->name), name, size);
    link->next = peer_links;
    peer_links = link;
    link_count++;
    return CUDA_SUCCESS;
}

void peer_link_leave(struct peer_link *link)
{
    link->users--;
    pthread_cond_signal(&peer_mover.added);
}

void peer_link_relay(struct peer_link *link, const void *reason, size_t size)
{
    keep_text(link->reason, sizeof(link->reason), reason, size);
    peer_link_stands(link, PEER_RELAYED);
}

static const char *peer_link_way_of(const struct peer_link *link)
{
    switch (link->state) {
    case PEER_DIRECT:
        return link->privacy && link->carriage == PEER_BEHIND ? "tcp, encrypted"
                                                              : link_name(link->direct);
    case PEER_RELAYED: return "client";
    case PEER_RENDEZVOUS: break;
    }
    return "none yet";
}

void peer_links_tell(void)
{
    char text[1024] = "";

    for (const struct peer_link *link = peer_links; link; link = link->next) {
        size_t used = strlen(text);
        if (link->lost != CUDA_SUCCESS && link->closed)
            continue;
        snprintf(text + used, sizeof(text) - used, "%s%s by %s%s%s%s%s%s%s%s", used ? "; " : "",
                 link->name, link->reaches ? "gpu memory, " : "", peer_link_way_of(link),
                 *link->means ? ", " : "", link->means, link->lost != CUDA_SUCCESS ? ", down" : "",
                 *link->reason ? " (" : "", link->reason, *link->reason ? ")" : "");
    }
    session_set_links(text);
}

void peer_link_tell_means(struct peer_link *link)
{
    const char *means = direct_means();

    if (!strcmp(link->means, means))
        return;
    snprintf(link->means, sizeof(link->means), "%s", means);
    peer_links_tell();
}

void peer_link_stands(struct peer_link *link, enum peer_state state)
{
    link->state = state;
    log_info("link with box=\"%s\" by=\"%s\" at=%s reason=\"%s\"", link->name,
             peer_link_way_of(link), link->address, link->reason);
    peer_links_tell();
    pthread_cond_broadcast(&peer_mover.ended);
    pthread_cond_signal(&peer_mover.added);
}

// ---- how blocks go ----

static int share_blocks(struct peer_link *link, struct link *made, bool called)
{
    const struct link_staging *staging = link_staging(made);

    if (!staging || staging->block_size != WIRE_BLOCK_SIZE ||
        staging->block_count < 2 * PEER_IN_BLOCKS)
        return -EPROTO;
    peer_blocks_share(&link->blocks, (uint8_t *)staging->base + staging->blocks_offset, called);
    link->carriage = PEER_SHARED;
    return 0;
}

static int register_blocks(struct peer_link *link, struct link *made)
{
    const struct peer_blocks *blocks = &link->blocks;
    const struct link_local outgoing = {.base = blocks->out[0].data,
                                        .size = PEER_OUT_BLOCKS * WIRE_BLOCK_SIZE,
                                        .dmabuf = -1};
    int err = link_expose(made, blocks->in[0].data, PEER_IN_BLOCKS * WIRE_BLOCK_SIZE, &link->key);

    if (!err)
        err = link_register(made, &outgoing, &link->outgoing);
    link->carriage = PEER_WRITTEN;
    return err;
}

int peer_link_carry(struct peer_link *link, struct link *made, bool called)
{
    switch (link_memory(made)) {
    case LINK_MEMORY_WINDOW: // which is a guest's, and no worker's
    case LINK_MEMORY_APART: break;
    case LINK_MEMORY_SHARED: return share_blocks(link, made, called);
    case LINK_MEMORY_REACHED: return register_blocks(link, made);
    }
    return 0;
}

int peer_link_write(struct peer_link *link, struct peer_block *block, uint64_t remote, uint32_t key,
                    struct link_registered *source)
{
    const struct link_transfer transfer = {
        .write = true,
        .local = block->source ? block->source : block->data,
        .registered = block->source ? source : link->outgoing,
        .size = block->size,
        .remote = remote,
        .key = key,
        .cookie = block,
    };

    return link_transfer_start(link->direct, &transfer);
}

// ---- the end ----

bool peer_link_is_over(const struct peer_link *link)
{
    return link->lost != CUDA_SUCCESS && link->closed && !link->users && !link->ending &&
           link->job_count == link->half_known;
}

void peer_link_take_off(const struct peer_link *link)
{
    struct peer_link **at = &peer_links;

    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    link_count--;
}

// ---- frames ----

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
    return link_send_bulk(link->direct, &frame, sizeof(frame), payload,
                          payload ? frame.bytes : 0) == 0 &&
           link_flush(link->direct) == 0;
}
