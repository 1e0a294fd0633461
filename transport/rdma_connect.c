// How the two ends of an rdma link find each other: the worker listens on a port of its own, and
// the client connects once for each channel, with a one-time token in the private data.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "common/sha256.h"
#include "transport/rdma_private.h"
#include "transport/spin.h"

#define RDMA_MAGIC 0x41445247u

enum { RDMA_VERSION = 1, BACKLOG = 8, ADDRESSES_MAX = 32, RESOLVE_MS = 200, PAGE = 4096 };
// Of the client's staging blocks.
enum { STAGING_MEMORY = 32 * WIRE_BLOCK_SIZE, STAGING_BLOCK_MAX = STAGING_MEMORY / 4 };

// What the client sends along with its request for a connection. The room there is 56 bytes; what
// arrives may be longer.
struct rdma_hello {
    uint32_t magic;
    uint16_t version;
    uint16_t channel;
    uint8_t token[32];
    uint64_t ring; // where the worker may write, and with which key
    uint32_t key;
    uint32_t reserved;
};
struct rdma_answer {
    uint32_t magic;
    uint16_t version;
    uint16_t channel;
    uint64_t ring;
    uint32_t key;
    uint32_t block_size, block_count;
    uint32_t reserved;
};

_Static_assert(sizeof(struct rdma_hello) == 56, "layout is part of the protocol");
_Static_assert(sizeof(struct rdma_answer) == 32, "layout is part of the protocol");

struct rdma_listener {
    struct rdma_end end;
    struct rdma_cm_id *id;
    struct rdma_options options;
    char address[64];
    uint16_t port;
};

struct any_address {
    union {
        struct sockaddr base;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
};

static int parse_address(const char *text, uint16_t port, struct any_address *out)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *found;

    if (getaddrinfo(text, NULL, &hints, &found))
        return -EINVAL;
    memset(out, 0, sizeof(*out));
    memcpy(&out->base, found->ai_addr,
           found->ai_addrlen < sizeof(*out) ? found->ai_addrlen : sizeof(*out));
    freeaddrinfo(found);
    if (out->base.sa_family == AF_INET)
        out->v4.sin_port = htons(port);
    else
        out->v6.sin6_port = htons(port);
    return 0;
}

// ---- both sides ----

// The next event, which the caller acknowledges; NULL and *ERROR when the time has passed or WATCH
// ended (-ECONNRESET) or, with WATCH_SPEAKS, became readable (-ECANCELED).
static struct rdma_cm_event *next_event(struct rdma_end *end, int watch, bool watch_speaks,
                                        uint64_t deadline, int *error)
{
    struct rdma_cm_event *event;

    for (;;) {
        struct pollfd wait[] = {
            {.fd = end->events->fd, .events = POLLIN},
            {.fd = watch, .events = (short)(watch_speaks ? POLLIN | POLLRDHUP : POLLRDHUP)}};
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

// The peer that does not answer is given up when all retries of one message have passed: the time
// for one is the largest power of two of which seven are below two thirds of DEAD_MS.
static void set_identity(struct rdma_cm_id *id, const struct rdma_options *options)
{
    uint64_t dead_ms = options->dead_ms ? options->dead_ms : RDMA_DEAD_MS;
    uint64_t limit_us = dead_ms * 1000 * 2 / 3, attempts = RDMA_RETRIES + 1;
    uint8_t timeout = 1, class = options->traffic_class;

    while (timeout < 31 && attempts * (UINT64_C(4096) << (timeout + 1)) / 1000 <= limit_us)
        timeout++;
    if (verbs.rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
                              sizeof(timeout)))
        log_debug("the time for retries stays the device's own");
    if (class && verbs.rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &class,
                                       sizeof(class)))
        log_warn("the traffic class cannot be set class=%u", class);
}

static int open_events(struct rdma_end *end)
{
    end->events = verbs.rdma_create_event_channel();
    if (!end->events)
        return -errno;
    if (fcntl(end->events->fd, F_SETFL, O_NONBLOCK) ||
        fcntl(end->events->fd, F_SETFD, FD_CLOEXEC))
        return -errno;
    return 0;
}

static struct rdma_conn_param parameters(const void *data, size_t size)
{
    return (struct rdma_conn_param){
        .private_data = data,
        .private_data_len = (uint8_t)size,
        .responder_resources = RDMA_MAX_RESP_RES,
        .initiator_depth = RDMA_MAX_INIT_DEPTH,
        .retry_count = RDMA_RETRIES,
        .rnr_retry_count = RDMA_RNR_RETRIES,
    };
}

// ---- the worker's side ----

static int bind_to(struct rdma_listener *listener, const char *address)
{
    struct any_address any;
    int r = parse_address(address, 0, &any);

    if (r)
        return r;
    if (verbs.rdma_create_id(listener->end.events, &listener->id, NULL, RDMA_PS_TCP))
        return -errno;
    if (verbs.rdma_bind_addr(listener->id, &any.base) == 0 && listener->id->verbs) {
        snprintf(listener->address, sizeof(listener->address), "%s", address);
        return 0;
    }
    r = errno ? -errno : -ENODEV;
    verbs.rdma_destroy_id(listener->id);
    listener->id = NULL;
    return r;
}

// Those addresses of this machine that may belong to a device. Only binding tells.
static size_t list_addresses(char (*out)[INET6_ADDRSTRLEN], size_t room)
{
    struct ifaddrs *all, *one;
    size_t count = 0;

    if (getifaddrs(&all))
        return 0;
    for (one = all; one && count < room; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_flags & IFF_LOOPBACK || !(one->ifa_flags & IFF_UP))
            continue;
        const struct sockaddr_in *v4 = (const void *)one->ifa_addr;
        const struct sockaddr_in6 *v6 = (const void *)one->ifa_addr;
        if (v4->sin_family == AF_INET)
            inet_ntop(AF_INET, &v4->sin_addr, out[count++], INET6_ADDRSTRLEN);
        else if (v4->sin_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
            inet_ntop(AF_INET6, &v6->sin6_addr, out[count++], INET6_ADDRSTRLEN);
    }
    freeifaddrs(all);
    return count;
}

static int bind_to_any(struct rdma_listener *listener, unsigned sequence)
{
    char addresses[ADDRESSES_MAX][INET6_ADDRSTRLEN];
    size_t count = list_addresses(addresses, ADDRESSES_MAX), usable = 0;

    // The usable ones first, so that workers are spread evenly over them.
    for (size_t i = 0; i < count; i++) {
        if (bind_to(listener, addresses[i]))
            continue;
        verbs.rdma_destroy_id(listener->id);
        listener->id = NULL;
        memmove(addresses[usable++], addresses[i], INET6_ADDRSTRLEN);
    }
    return usable ? bind_to(listener, addresses[sequence % usable]) : -ENODEV;
}

int rdma_listener_new(const struct rdma_options *options, const struct link_staging *staging,
                      unsigned sequence, struct rdma_listener **out, char *text, size_t room)
{
    struct rdma_listener *listener;
    int r = rdma_verbs_load(text, room);

    if (r)
        return r;
    listener = calloc(1, sizeof(*listener));
    if (!listener)
        return -ENOMEM;
    listener->options = *options;
    listener->end.dead_ms = options->dead_ms ? options->dead_ms : RDMA_DEAD_MS;
    *text = '\0';
    r = open_events(&listener->end);
    if (!r && options->address && *options->address)
        r = bind_to(listener, options->address);
    else if (!r)
        r = bind_to_any(listener, sequence);
    if (r == -ENODEV)
        snprintf(text, room, "no RDMA device has an address of this machine");
    else if (r)
        snprintf(text, room, "no RDMA device can be used: %s", strerror(-r));
    if (!r)
        r = rdma_end_prepare(&listener->end, listener->id->verbs, text, room);
    if (!r)
        r = rdma_end_register_staging(&listener->end, staging, text, room);
    if (!r && verbs.rdma_listen(listener->id, BACKLOG)) {
        r = -errno;
        snprintf(text, room, "cannot listen: %s", strerror(-r));
    }
    if (r) {
        rdma_listener_free(&listener);
        return r;
    }
    set_identity(listener->id, options);
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

// Who may come in: one connection per channel, with the token, for the device that we prepared.
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
    struct rdma_answer answer = {
        .magic = RDMA_MAGIC,
        .version = RDMA_VERSION,
        .channel = hello->channel,
        .ring = (uintptr_t)listener->end.in,
        .key = listener->end.rings->rkey,
        .block_size = listener->end.staging.block_size,
        .block_count = listener->options.one_block ? 1 : listener->end.staging.block_count,
    };
    struct rdma_conn_param accept = parameters(&answer, sizeof(answer));
    uint8_t refused = 1;

    if (!is_welcome(listener, token, id, hello)) {
        log_warn("a connection over RDMA without the token was turned away");
        verbs.rdma_reject(id, &refused, sizeof(refused));
        verbs.rdma_destroy_id(id);
        return 0;
    }
    set_identity(id, &listener->options);
    int r = rdma_end_queue_pair(&listener->end, id, hello->channel);
    if (!r && verbs.rdma_accept(id, &accept))
        r = -errno;
    listener->end.ids[hello->channel] = id; // closed with the rest
    return r;
}

// Handles one event: 1 when a channel stands, 0, or -errno.
static int take_event(struct rdma_listener *listener, const uint8_t token[32],
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

int link_rdma_accept(struct rdma_listener **from, const uint8_t token[32], int watch,
                     int timeout_ms, const struct link_options *options, struct link **out)
{
    struct rdma_listener *listener = *from;
    uint64_t deadline = deadline_in(timeout_ms);
    struct rdma_hello first = {0};
    int standing = 0, r = 0;

    while (!r && standing < RDMA_CHANNELS) {
        struct rdma_cm_event *event = next_event(&listener->end, watch, true, deadline, &r);
        if (!event)
            break;
        r = take_event(listener, token, event, &first);
        if (r > 0) {
            standing++;
            r = 0;
        }
    }
    if (r) {
        // What came halfway is closed, the listener can be asked again.
        for (int channel = 0; channel < RDMA_CHANNELS; channel++) {
            struct rdma_cm_id *id = listener->end.ids[channel];
            if (id && id->qp)
                verbs.rdma_destroy_qp(id);
            if (id)
                verbs.rdma_destroy_id(id);
            listener->end.ids[channel] = NULL;
        }
        return r;
    }
    verbs.rdma_destroy_id(listener->id);
    memset(&listener->end.staging, 0, sizeof(listener->end.staging));
    r = rdma_link_new(&listener->end, watch, first.ring, first.key, options, out);
    listener->id = NULL;
    rdma_listener_free(from);
    return r;
}

// ---- the client's side ----

struct connecting {
    struct rdma_end end;
    int watch;
    uint64_t deadline;
    struct any_address to, source;
    bool has_source;
    const struct rdma_options *options;
    struct rdma_hello hello;
    struct rdma_answer answer; // to the first channel
    char *text;
    size_t room;
};

static int refuse(struct connecting *c, int error, const char *format, const char *what)
{
    snprintf(c->text, c->room, format, what);
    return error;
}

// Waits for the event that WANTED is; everything else that can come is a failure.
static int expect(struct connecting *c, enum rdma_cm_event_type wanted, struct rdma_answer *answer)
{
    int r = 0;
    struct rdma_cm_event *event = next_event(&c->end, c->watch, false, c->deadline, &r);

    if (!event)
        return refuse(c, r, "the RDMA connection does not come about: %s",
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
        return refuse(c, r, "the worker's answer is %s", "too short");
    if (got == wanted)
        return 0;
    if (turned_away && status == 28) // consumer reject: the worker's own decision
        return refuse(c, -EACCES, "the worker refused the connection%s", "");
    if (got == RDMA_CM_EVENT_REJECTED)
        return refuse(c, -ECONNREFUSED, "nobody listens (%s)", name);
    return refuse(c, status < 0 ? status : -ENETUNREACH, "the address is not reached: %s", name);
}

// In short attempts: a neighbour's answer that comes while the kernel does not look is not seen
// again before an attempt ends.
static int resolve_address(struct connecting *c, struct rdma_cm_id *id)
{
    int r, left;

    do {
        left = deadline_left(c->deadline);
        if (left > RESOLVE_MS)
            left = RESOLVE_MS;
        if (verbs.rdma_resolve_addr(id, c->has_source ? &c->source.base : NULL, &c->to.base, left))
            return refuse(c, -errno, "no RDMA device leads there: %s", strerror(errno));
        r = expect(c, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
    } while (r == -ETIMEDOUT && deadline_left(c->deadline));
    return r;
}

static int connect_channel(struct connecting *c, enum rdma_channel channel)
{
    struct rdma_answer answer;
    struct rdma_cm_id *id;

    if (verbs.rdma_create_id(c->end.events, &id, NULL, RDMA_PS_TCP))
        return refuse(c, -errno, "no identifier: %s", strerror(errno));
    c->end.ids[channel] = id;
    set_identity(id, c->options);
    int r = resolve_address(c, id);
    if (!r && verbs.rdma_resolve_route(id, deadline_left(c->deadline)))
        r = refuse(c, -errno, "no route: %s", strerror(errno));
    if (!r)
        r = expect(c, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
    if (!r && !c->end.context)
        r = rdma_end_prepare(&c->end, id->verbs, c->text, c->room);
    if (!r && id->verbs != c->end.context)
        r = refuse(c, -EXDEV, "the two channels would use two devices%s", "");
    if (!r && (r = rdma_end_queue_pair(&c->end, id, channel)))
        refuse(c, r, "no queue pair: %s", strerror(-r));
    if (r)
        return r;
    c->hello.channel = channel;
    c->hello.ring = (uintptr_t)c->end.in;
    c->hello.key = c->end.rings->rkey;
    struct rdma_conn_param ask = parameters(&c->hello, sizeof(c->hello));
    if (verbs.rdma_connect(id, &ask))
        return refuse(c, -errno, "cannot connect: %s", strerror(errno));
    r = expect(c, RDMA_CM_EVENT_ESTABLISHED, &answer);
    if (!r && (answer.magic != RDMA_MAGIC || answer.version != RDMA_VERSION ||
               answer.channel != channel))
        r = refuse(c, -EPROTO, "the worker's answer is %s", "of another version");
    if (!r && channel == RDMA_COMMANDS)
        c->answer = answer;
    return r;
}

// The client's staging blocks follow the worker's, in size and number, but take no more memory than is
// usual. What the caller asks for comes first.
static int make_staging(struct connecting *c, const struct link_options *options)
{
    uint32_t size = options->block_size ? options->block_size : c->answer.block_size;
    uint32_t count = options->block_count ? options->block_count : c->answer.block_count;

    if (size % PAGE || !size || !count)
        return refuse(c, -EPROTO, "the worker's answer has %s", "impossible blocks");
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
        .options = rdma,
        .hello = {.magic = RDMA_MAGIC, .version = RDMA_VERSION},
        .text = text,
        .room = room,
    };
    int r = rdma_verbs_load(text, room);

    if (r)
        return r;
    c.end.dead_ms = rdma->dead_ms ? rdma->dead_ms : RDMA_DEAD_MS;
    memcpy(c.hello.token, token, sizeof(c.hello.token));
    c.has_source = rdma->address && *rdma->address;
    if (parse_address(address, port, &c.to) ||
        (c.has_source && parse_address(rdma->address, 0, &c.source)))
        return refuse(&c, -EINVAL, "%s", "an address for RDMA is not a number");
    r = open_events(&c.end);
    if (r)
        return refuse(&c, r, "no RDMA here: %s", strerror(-r));
    // The libraries are loaded and know their devices by now, which is not the network's time.
    c.deadline = deadline_in(timeout_ms);
    for (int channel = 0; !r && channel < RDMA_CHANNELS; channel++)
        r = connect_channel(&c, channel);
    if (!r)
        r = make_staging(&c, options);
    if (!r)
        r = rdma_link_new(&c.end, watch, c.answer.ring, c.answer.key, options, out);
    if (r)
        rdma_end_close(&c.end);
    return r;
}
