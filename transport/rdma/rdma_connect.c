// SPDX-License-Identifier: BSD-3-Clause
// Client: chooses a device, resolves the route to the worker's device and connects once for each
// channel, with a one-time token in the private data.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "transport/rdma/rdma_address.h"
#include "transport/rdma/rdma_handshake.h"
#include "common/base/wait.h"

enum { RESOLVE_MS = 200, AGAIN_MS = 5000, PAGE = 4096 };
// Memory of the client's staging blocks.
enum { STAGING_MEMORY = 32 * WIRE_BLOCK_SIZE, STAGING_BLOCK_MAX = STAGING_MEMORY / 4 };

// ---- both sides ----

struct rdma_cm_event *rdma_next_event(struct rdma_end *end, int watch, bool watch_speaks,
                                      uint64_t deadline, int *error)
{
    struct rdma_cm_event *event;

    for (;;) {
        struct pollfd wait[] = {{.fd = end->events->fd, .events = POLLIN},
                                {.fd = watch,
                                 .events = (short)(watch_speaks ? POLLIN | POLLRDHUP : POLLRDHUP)}};
        if (verbs.rdma_get_cm_event(end->events, &event) == 0)
            return event;
        if (errno != EAGAIN && errno != EINTR) {
            *error = -errno;
            return NULL;
        }
        int ready = poll(wait, 2, deadline_left(deadline));
        if (ready < 0 && errno != EINTR)
            *error = -errno;
        else if (ready == 0)
            *error = -ETIMEDOUT;
        else if (ready > 0 && wait[1].revents)
            *error = wait[1].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL) ? -ECONNRESET
                                                                                  : -ECANCELED;
        else
            continue;
        return NULL;
    }
}

int rdma_open_events(struct rdma_end *end)
{
    end->events = verbs.rdma_create_event_channel();
    if (!end->events)
        return -errno;
    if (fcntl(end->events->fd, F_SETFL, O_NONBLOCK) || fcntl(end->events->fd, F_SETFD, FD_CLOEXEC))
        return -errno;
    return 0;
}

struct rdma_conn_param rdma_parameters(const struct rdma_end *end, enum rdma_channel channel,
                                       const void *data, size_t size)
{
    return (struct rdma_conn_param){
        .private_data = data,
        .private_data_len = (uint8_t)size,
        .responder_resources = RDMA_MAX_RESP_RES,
        .initiator_depth = RDMA_MAX_INIT_DEPTH,
        .retry_count = RDMA_RETRIES,
        .rnr_retry_count = RDMA_RNR_RETRIES,
        .qp_num = end->pairs[channel]->qp_num,
    };
}

// ---- the client's side ----

struct connecting {
    struct rdma_end end;
    int watch;
    uint64_t deadline; // of this attempt
    struct rdma_address to;
    struct rdma_address from; // family 0: the route decides
    struct rdma_hello hello;
    struct rdma_answer answer; // to the first channel
    bool heard;                // the worker has answered, if only with a refusal
    char *text;
    size_t room;
};

static int rdma_connect_refuse(struct connecting *c, int error, const char *format,
                               const char *what)
{
    snprintf(c->text, c->room, format, what);
    return error;
}

// Waits for the event that WANTED is; everything else that can come is a failure.
static int rdma_connect_expect(struct connecting *c, enum rdma_cm_event_type wanted,
                               struct rdma_answer *answer)
{
    int r = 0;
    struct rdma_cm_event *event = rdma_next_event(&c->end, c->watch, false, c->deadline, &r);

    if (!event)
        return rdma_connect_refuse(c, r, "the RDMA connection does not come about: %s",
                                   r == -ETIMEDOUT ? "no answer in time" : strerror(-r));
    enum rdma_cm_event_type got = event->event;
    int status = event->status;
    if (got == wanted && answer) {
        if (event->param.conn.private_data_len < sizeof(*answer))
            r = -EPROTO;
        else
            memcpy(answer, event->param.conn.private_data, sizeof(*answer));
    }
    bool turned_away = got == RDMA_CM_EVENT_REJECTED && event->param.conn.private_data_len;
    const char *name = verbs.rdma_event_str(got);
    verbs.rdma_ack_cm_event(event);
    if (r)
        return rdma_connect_refuse(c, r, "the worker's answer is %s", "too short");
    if (got == wanted)
        return 0;
    if (turned_away && status == 28) // consumer reject: the worker's own decision
        return rdma_connect_refuse(c, -EACCES, "the worker refused the connection%s", "");
    if (got == RDMA_CM_EVENT_REJECTED)
        return rdma_connect_refuse(c, -ECONNREFUSED, "nobody listens (%s)", name);
    return rdma_connect_refuse(c, status < 0 ? status : -ENETUNREACH,
                               "the address is not reached: %s", name);
}

// In short attempts: a neighbour's answer that comes while the kernel does not look is not seen
// again before an attempt ends.
static int resolve_address(struct connecting *c, struct rdma_cm_id *id)
{
    struct sockaddr *from = c->from.base.sa_family ? &c->from.base : NULL;
    int r, left;

    do {
        left = deadline_left(c->deadline);
        if (left > RESOLVE_MS)
            left = RESOLVE_MS;
        if (verbs.rdma_resolve_addr(id, from, &c->to.base, left))
            return rdma_connect_refuse(c, -errno, "no RDMA device leads there: %s",
                                       strerror(errno));
        r = rdma_connect_expect(c, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
    } while (r == -ETIMEDOUT && deadline_left(c->deadline));
    return r;
}

// An identifier with a way to the worker.
static int find_way(struct connecting *c, enum rdma_channel channel)
{
    uint8_t class = c->end.options.traffic_class;
    struct rdma_cm_id *id;

    if (verbs.rdma_create_id(c->end.events, &id, NULL, RDMA_PS_TCP))
        return rdma_connect_refuse(c, -errno, "no identifier: %s", strerror(errno));
    c->end.ids[channel] = id;
    // The kernel makes the packets' priority of it when it looks for the route.
    if (class &&
        verbs.rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &class, sizeof(class)))
        log_warn("the traffic class cannot be set class=%u", class);
    int r = resolve_address(c, id);
    if (!r && verbs.rdma_resolve_route(id, deadline_left(c->deadline)))
        r = rdma_connect_refuse(c, -errno, "no route: %s", strerror(errno));
    return r ? r : rdma_connect_expect(c, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
}

static int rdma_connect_check_answer(struct connecting *c, const struct rdma_answer *answer,
                                     enum rdma_channel channel)
{
    if (answer->magic == RDMA_MAGIC && answer->version == RDMA_VERSION &&
        answer->channel == channel && answer->mtu)
        return 0;
    return rdma_connect_refuse(c, -EPROTO, "the worker's answer is %s", "of another version");
}

static int connect_channel(struct connecting *c, enum rdma_channel channel)
{
    struct rdma_answer answer;
    int r = rdma_pair_new(&c->end, channel);

    if (r)
        return rdma_connect_refuse(c, r, "no queue pair: %s", strerror(-r));
    c->hello.channel = channel;
    c->hello.ring = (uintptr_t)c->end.in;
    c->hello.key = c->end.rings->rkey;
    c->hello.mtu = c->end.options.mtu;
    struct rdma_conn_param ask = rdma_parameters(&c->end, channel, &c->hello, sizeof(c->hello));
    if (verbs.rdma_connect(c->end.ids[channel], &ask))
        return rdma_connect_refuse(c, -errno, "cannot connect: %s", strerror(errno));
    r = rdma_connect_expect(c, RDMA_CM_EVENT_CONNECT_RESPONSE, &answer);
    c->heard |= r != -ETIMEDOUT;
    if (!r)
        r = rdma_connect_check_answer(c, &answer, channel);
    if (r)
        return r;
    r = rdma_pair_ready(&c->end, channel, answer.mtu);
    if (!r && verbs.rdma_establish(c->end.ids[channel]))
        r = -errno;
    if (r)
        return rdma_connect_refuse(c, r, "the queue pair cannot be used: %s", strerror(-r));
    if (channel == RDMA_COMMANDS)
        c->answer = answer;
    return 0;
}

// The second channel goes the way that the first one found.
static int connect_second(struct connecting *c)
{
    const struct sockaddr *from = rdma_get_local_addr(c->end.ids[RDMA_COMMANDS]);

    memcpy(&c->from, from, from->sa_family == AF_INET ? sizeof(c->from.v4) : sizeof(c->from.v6));
    if (from->sa_family == AF_INET)
        c->from.v4.sin_port = 0;
    else
        c->from.v6.sin6_port = 0;
    int r = find_way(c, RDMA_BULK);
    if (!r && c->end.ids[RDMA_BULK]->verbs != c->end.context)
        r = rdma_connect_refuse(c, -EXDEV, "the two channels would use two devices%s", "");
    return r ? r : connect_channel(c, RDMA_BULK);
}

static int connect_from(struct connecting *c, const char *address)
{
    memset(&c->from, 0, sizeof(c->from));
    int r = address ? rdma_address_parse(address, 0, &c->from) : 0;

    if (!r)
        r = find_way(c, RDMA_COMMANDS);
    if (!r)
        r = rdma_end_prepare(&c->end, c->end.ids[RDMA_COMMANDS]->verbs, c->text, c->room);
    if (!r)
        r = connect_channel(c, RDMA_COMMANDS);
    if (!r)
        r = connect_second(c);
    return r;
}

// Forgets an attempt that did not reach the worker.
static int begin_again(struct connecting *c)
{
    struct rdma_end fresh = {.options = c->end.options, .dead_ms = c->end.dead_ms};

    rdma_end_close(&c->end);
    c->end = fresh;
    return rdma_open_events(&c->end);
}

// If several devices lead to the worker, each session begins with another; if one finds no way, the
// next one is tried. Without a choice of our own the route decides.
static int connect_from_any(struct connecting *c, uint64_t deadline)
{
    const struct rdma_options *options = &c->end.options;
    bool chosen = (options->devices && *options->devices) || options->gid_index >= 0;
    struct rdma_place places[RDMA_PLACES_MAX];
    int count = rdma_places(c->end.events, options, &c->to, places, c->text, c->room);
    int r = count;

    if (count < 0 && chosen)
        return r;
    if (!chosen && count < 2)
        return connect_from(c, NULL);
    for (int i = 0; i < count; i++) {
        c->deadline = deadline_in(deadline_left(deadline) / (count - i));
        r = connect_from(c, places[i].address);
        if (!r || c->heard || i + 1 == count || !deadline_left(deadline))
            break;
        log_debug("rdma device=%s address=%s leads nowhere reason=\"%s\"", places[i].device,
                  places[i].address, c->text);
        r = begin_again(c);
        if (r)
            return rdma_connect_refuse(c, r, "no RDMA here: %s", strerror(-r));
    }
    return r;
}

// The client's staging blocks follow the worker's in size and number, unless the options set them,
// but take no more memory than usual.
static int make_staging(struct connecting *c, const struct link_options *options)
{
    uint32_t size = options->block_size ? options->block_size : c->answer.block_size;
    uint32_t count = options->block_count ? options->block_count : c->answer.block_count;

    if (size % PAGE || !size || !count)
        return rdma_connect_refuse(c, -EPROTO, "the worker's answer has %s", "impossible blocks");
    if (size > STAGING_BLOCK_MAX)
        size = STAGING_BLOCK_MAX;
    if (count > STAGING_MEMORY / size)
        count = STAGING_MEMORY / size;
    if (count > LINK_FLAGS / 4)
        count = LINK_FLAGS / 4;
    return rdma_end_make_staging(&c->end, size, count, c->text, c->room);
}

int link_rdma_connect(const char *address, uint16_t port, const uint8_t token[32], int watch,
                      int timeout_ms, const struct link_options *options,
                      const struct rdma_options *rdma, struct link **out, char *text, size_t room)
{
    struct connecting c = {
        .watch = watch,
        .hello = {.magic = RDMA_MAGIC, .version = RDMA_VERSION},
        .text = text,
        .room = room,
    };
    int r = rdma_verbs_load(text, room);

    if (r)
        return r;
    c.end.options = *rdma;
    c.end.dead_ms = rdma->dead_ms ? rdma->dead_ms : RDMA_DEAD_MS;
    memcpy(c.hello.token, token, sizeof(c.hello.token));
    if (rdma_address_parse(address, port, &c.to))
        return rdma_connect_refuse(&c, -EINVAL, "%s", "an address for RDMA is not a number");
    r = rdma_open_events(&c.end);
    if (r)
        return rdma_connect_refuse(&c, r, "no RDMA here: %s", strerror(-r));
    // The libraries are loaded and know their devices by now, which is not the network's time.
    c.deadline = deadline_in(timeout_ms);
    r = connect_from_any(&c, c.deadline);
    if (!r && !rdma->mutual)
        r = make_staging(&c, options);
    if (!r)
        r = rdma_link_new(&c.end, watch, c.answer.ring, c.answer.key, options, out);
    if (r)
        rdma_end_close(&c.end);
    return r;
}

int rdma_connect_again(const struct rdma_link *rdma, const char *address, uint16_t port,
                       const uint8_t token[32], int watch, struct rdma_end *out)
{
    char text[300] = "";
    struct connecting c = {
        .end = rdma_end_borrow(&rdma->end),
        .watch = watch,
        .deadline = deadline_in(AGAIN_MS),
        .from = rdma->from,
        .hello = {.magic = RDMA_MAGIC, .version = RDMA_VERSION},
        .text = text,
        .room = sizeof(text),
    };
    struct descriptor_fence fence;
    int r = rdma_address_parse(address, port, &c.to);

    memcpy(c.hello.token, token, sizeof(c.hello.token));
    descriptor_fence_begin(&fence);
    if (!r)
        r = rdma_open_events(&c.end);
    descriptor_fence_end(&fence);
    if (!r)
        r = find_way(&c, RDMA_COMMANDS);
    if (!r && c.end.ids[RDMA_COMMANDS]->verbs != c.end.context)
        r = rdma_connect_refuse(&c, -EXDEV, "%s", "another device leads there");
    if (!r)
        r = connect_channel(&c, RDMA_COMMANDS);
    if (!r)
        r = connect_second(&c);
    if (!r && (c.answer.ring != rdma->peer_ring || c.answer.key != rdma->peer_key))
        r = -EINVAL;
    if (r) {
        log_debug("no new queue pairs error=\"%s\" reason=\"%s\"", strerror(-r), text);
        rdma_end_close(&c.end);
        return r;
    }
    *out = c.end;
    return 0;
}
