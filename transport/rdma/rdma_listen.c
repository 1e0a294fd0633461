// SPDX-License-Identifier: BSD-3-Clause
// Worker: listens on a port of its own and accepts the one client that presents the token, once for
// each channel.
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/log_limit.h"
#include "common/security/sha256.h"
#include "transport/rdma/rdma_address.h"
#include "transport/rdma/rdma_handshake.h"
#include "common/base/wait.h"

enum { BACKLOG = 8, AGAIN_MS = 10000 };

static struct log_limit turned_away = LOG_LIMIT(5, 60);

struct rdma_listener {
    struct rdma_end end;
    struct rdma_cm_id *id;
    char address[INET6_ADDRSTRLEN];
    uint16_t port;
};

// Listens on the first free port of the allowed ones, starting with the next in turn.
static int bind_in_range(struct rdma_listener *listener, const struct rdma_place *place)
{
    const struct rdma_options *options = &listener->end.options;
    unsigned first = options->first_port, count = options->last_port - first + 1u;
    int r = -EADDRINUSE;

    if (!first)
        return rdma_place_bind(listener->end.events, place->address, 0, &listener->id);
    for (unsigned i = 0; i < count && r == -EADDRINUSE; i++) {
        uint16_t port = (uint16_t)(first + (options->turn + i) % count);
        r = rdma_place_bind(listener->end.events, place->address, port, &listener->id);
    }
    return r;
}

static int bind_listener(struct rdma_listener *listener, char *text, size_t room)
{
    const struct rdma_options *options = &listener->end.options;
    struct rdma_place places[RDMA_PLACES_MAX];
    int count = rdma_places(listener->end.events, options, NULL, places, text, room);
    int r = count;

    for (int i = 0; i < count; i++) {
        r = bind_in_range(listener, &places[i]);
        if (!r && listener->end.borrows && listener->id->verbs != listener->end.context) {
            verbs.rdma_destroy_id(listener->id);
            listener->id = NULL;
            r = -EXDEV;
        }
        if (!r) {
            memcpy(listener->address, places[i].address, sizeof(listener->address));
            return 0;
        }
        if (r == -EADDRINUSE)
            snprintf(text, room, "ports %u to %u are all in use", options->first_port,
                     options->last_port);
        else
            snprintf(text, room, "no RDMA device can be used: %s: %s", places[i].address,
                     strerror(-r));
    }
    return r;
}

int rdma_listener_new(const struct rdma_options *options, const struct link_staging *staging,
                      struct rdma_listener **out, char *text, size_t room)
{
    struct rdma_listener *listener;
    int r = rdma_verbs_load(text, room);

    if (r)
        return r;
    listener = calloc(1, sizeof(*listener));
    if (!listener)
        return -ENOMEM;
    listener->end.options = *options;
    listener->end.is_worker = true;
    listener->end.dead_ms = options->dead_ms ? options->dead_ms : RDMA_DEAD_MS;
    r = rdma_open_events(&listener->end);
    if (r)
        snprintf(text, room, "no RDMA device can be used: %s", strerror(-r));
    if (!r)
        r = bind_listener(listener, text, room);
    if (!r)
        r = rdma_end_prepare(&listener->end, listener->id->verbs, text, room);
    if (!r && staging)
        r = rdma_end_register_staging(&listener->end, staging, text, room);
    if (!r && verbs.rdma_listen(listener->id, BACKLOG)) {
        r = -errno;
        snprintf(text, room, "cannot listen: %s", strerror(-r));
    }
    if (r) {
        rdma_listener_free(&listener);
        return r;
    }
    if (staging)
        listener->end.staging = *staging;
    listener->port = ntohs(verbs.rdma_get_src_port(listener->id));
    *out = listener;
    return 0;
}

void rdma_listener_free(struct rdma_listener **listener)
{
    struct rdma_listener *old = *listener;

    if (!old)
        return;
    *listener = NULL;
    if (old->id)
        verbs.rdma_destroy_id(old->id);
    rdma_end_close(&old->end);
    free(old);
}

const char *rdma_listener_address(const struct rdma_listener *listener)
{
    return listener->address;
}

uint16_t rdma_listener_port(const struct rdma_listener *listener)
{
    return listener->port;
}

const char *rdma_listener_device(const struct rdma_listener *listener)
{
    return verbs.ibv_get_device_name(listener->end.context->device);
}

// Returns true for a connection that may come in: one per channel, with the token, for the prepared
// device.
static bool is_welcome(const struct rdma_listener *listener, const uint8_t token[32],
                       const struct rdma_cm_id *id, const struct rdma_hello *hello)
{
    return hello->magic == RDMA_MAGIC && hello->version == RDMA_VERSION &&
           hello->channel < RDMA_CHANNELS && !listener->end.ids[hello->channel] &&
           id->verbs == listener->end.context && secret_equal(hello->token, token, 32);
}

static int take_request(struct rdma_listener *listener, const uint8_t token[32],
                        struct rdma_cm_id *id, const struct rdma_hello *hello)
{
    struct rdma_end *end = &listener->end;
    struct rdma_answer answer = {
        .magic = RDMA_MAGIC,
        .version = RDMA_VERSION,
        .channel = hello->channel,
        .ring = (uintptr_t)end->in,
        .key = end->rings->rkey,
        .block_size = end->staging.block_size,
        .block_count = end->options.one_block ? 1 : end->staging.block_count,
    };
    enum rdma_channel channel = hello->channel;
    uint8_t refused = 1;

    if (!is_welcome(listener, token, id, hello)) {
        log_limited(&turned_away, LOG_LEVEL_WARN, "%s",
                    "a connection over RDMA without the token was turned away");
        verbs.rdma_reject(id, &refused, sizeof(refused));
        verbs.rdma_destroy_id(id);
        return 0;
    }
    end->ids[channel] = id; // closed with the rest
    int r = rdma_pair_new(end, channel);
    if (!r)
        r = rdma_pair_ready(end, channel, hello->mtu);
    if (r) {
        log_warn("a queue pair cannot be made ready error=\"%s\"", strerror(-r));
        return r;
    }
    answer.mtu = end->path.mtu;
    struct rdma_conn_param accept = rdma_parameters(end, channel, &answer, sizeof(answer));
    return verbs.rdma_accept(id, &accept) ? -errno : 0;
}

// Handles one event: 1 when a channel stands, 0, or -errno.
static int rdma_listen_take_event(struct rdma_listener *listener, const uint8_t token[32],
                                  struct rdma_cm_event *event, struct rdma_hello *first)
{
    enum rdma_cm_event_type type = event->event;
    struct rdma_cm_id *id = event->id;
    struct rdma_hello hello = {0};

    // The data is gone with the acknowledgement, without which the identifier cannot be destroyed.
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST &&
        event->param.conn.private_data_len >= sizeof(hello))
        memcpy(&hello, event->param.conn.private_data, sizeof(hello));
    verbs.rdma_ack_cm_event(event);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
        int r = take_request(listener, token, id, &hello);
        if (!r && listener->end.ids[RDMA_COMMANDS] == id)
            *first = hello;
        return r;
    }
    if (type == RDMA_CM_EVENT_ESTABLISHED)
        return 1;
    return id == listener->id ? 0 : -ECONNABORTED;
}

// Waits until both channels stand. FIRST receives what the client has said on the first one.
static int accept_channels(struct rdma_listener *listener, const uint8_t token[32], int watch,
                           int timeout_ms, struct rdma_hello *first)
{
    uint64_t deadline = deadline_in(timeout_ms);
    int standing = 0, r = 0;

    while (!r && standing < RDMA_CHANNELS) {
        struct rdma_cm_event *event = rdma_next_event(&listener->end, watch, true, deadline, &r);
        if (!event)
            break;
        r = rdma_listen_take_event(listener, token, event, first);
        if (r > 0) {
            standing++;
            r = 0;
        }
    }
    // Half-open connections are closed; the listener can be used again.
    if (r)
        rdma_end_drop_channels(&listener->end);
    return r;
}

int link_rdma_accept(struct rdma_listener **from, const uint8_t token[32], int watch,
                     int timeout_ms, const struct link_options *options, struct link **out)
{
    struct rdma_listener *listener = *from;
    struct rdma_hello first = {0};
    int r = accept_channels(listener, token, watch, timeout_ms, &first);

    if (r)
        return r;
    verbs.rdma_destroy_id(listener->id);
    memset(&listener->end.staging, 0, sizeof(listener->end.staging));
    r = rdma_link_new(&listener->end, watch, first.ring, first.key, options, out);
    listener->id = NULL;
    rdma_listener_free(from);
    return r;
}

int rdma_listen_again(struct rdma_link *rdma)
{
    struct rdma_listener *listener = calloc(1, sizeof(*listener));
    char text[300] = "";

    rdma_listener_free(&rdma->again);
    if (!listener)
        return -ENOMEM;
    listener->end = rdma_end_borrow(&rdma->end);
    int r = rdma_open_events(&listener->end);
    if (!r)
        r = bind_listener(listener, text, sizeof(text));
    if (!r && verbs.rdma_listen(listener->id, BACKLOG))
        r = -errno;
    if (r) {
        log_debug("no new queue pairs error=\"%s\" reason=\"%s\"", strerror(-r), text);
        rdma_listener_free(&listener);
        return r;
    }
    listener->port = ntohs(verbs.rdma_get_src_port(listener->id));
    rdma->again = listener;
    return 0;
}

int rdma_accept_again(struct rdma_link *rdma, const uint8_t token[32], int watch,
                      struct rdma_end *out)
{
    struct rdma_listener *listener = rdma->again;
    struct rdma_hello first = {0};
    int r = accept_channels(listener, token, watch, AGAIN_MS, &first);

    if (!r && (first.ring != rdma->peer_ring || first.key != rdma->peer_key))
        r = -EINVAL;
    if (!r) {
        verbs.rdma_destroy_id(listener->id);
        listener->id = NULL;
        *out = listener->end;
        listener->end = (struct rdma_end){0};
    }
    rdma_listener_free(&rdma->again);
    return r;
}
