// SPDX-License-Identifier: BSD-3-Clause
// Connection requests that no correct client sends, and answers that no correct worker gives, are
// refused; afterwards a client that knows the token is served.
#include <arpa/inet.h>

#include "tests/transport/pairs.h"
#include "transport/rdma/rdma_address.h"
#include "transport/rdma/rdma_handshake.h"
#include "common/base/wait.h"

static const struct link_options options = {.spin_us = 1, .block_size = 4096, .block_count = 2};
static struct shm_memory *memory;
static struct rdma_listener *listener;
static uint16_t port;

struct accepting {
    pthread_t thread;
    int timeout_ms, result;
    struct link *link;
};

static void *accept_main(void *argument)
{
    struct accepting *accepting = argument;

    accepting->result = link_rdma_accept(&listener, pair_token, -1, accepting->timeout_ms, &options,
                                         &accepting->link);
    return NULL;
}

static void listen_anew(void)
{
    struct rdma_options rdma = RDMA_OPTIONS_DEFAULT;
    char text[300];

    rdma.devices = getenv("RDMA_VM_ADDRESS_0");
    rdma_listener_free(&listener);
    if (rdma_listener_new(&rdma, shm_memory_staging(memory), &listener, text, sizeof(text)))
        bail("no listener: %s", text);
    port = rdma_listener_port(listener);
}

static void accept_start(struct accepting *accepting, int timeout_ms)
{
    *accepting = (struct accepting){.timeout_ms = timeout_ms};
    if (pthread_create(&accepting->thread, NULL, accept_main, accepting))
        bail("no thread");
}

static int accept_join(struct accepting *accepting)
{
    pthread_join(accepting->thread, NULL);
    return accepting->result;
}

static int connect_properly(uint16_t to, int timeout_ms, struct link **link, char *text)
{
    struct rdma_options rdma = RDMA_OPTIONS_DEFAULT;

    rdma.devices = getenv("RDMA_VM_ADDRESS_1");
    *text = '\0';
    return link_rdma_connect(getenv("RDMA_VM_ADDRESS_0"), to, pair_token, -1, timeout_ms, &options,
                             &rdma, link, text, 300);
}

// ---- a connection by hand ----

struct raw {
    struct rdma_end end; // of which only the events and an identifier are used
    struct rdma_cm_id *id;
};

enum outcome { ACCEPTED, TURNED_AWAY, NOBODY_THERE, SOMETHING_ELSE };

static enum rdma_cm_event_type raw_await(struct raw *raw, int *status, struct rdma_cm_id **new_id,
                                         void *data, size_t size)
{
    int error = 0;
    struct rdma_cm_event *event = rdma_next_event(&raw->end, -1, false, deadline_in(10000), &error);

    if (!event)
        bail("nothing happens: %s", strerror(-error));
    enum rdma_cm_event_type type = event->event;
    *status = event->status;
    if (new_id)
        *new_id = event->id;
    if (data && event->param.conn.private_data_len >= size)
        memcpy(data, event->param.conn.private_data, size);
    verbs.rdma_ack_cm_event(event);
    return type;
}

static void raw_open(struct raw *raw)
{
    memset(raw, 0, sizeof(*raw));
    if (rdma_open_events(&raw->end) ||
        verbs.rdma_create_id(raw->end.events, &raw->id, NULL, RDMA_PS_TCP))
        bail("no identifier");
}

static void raw_close(struct raw *raw)
{
    verbs.rdma_destroy_id(raw->id);
    verbs.rdma_destroy_event_channel(raw->end.events);
}

// Requests a connection with SIZE bytes of DATA, and receives the answer.
static enum outcome raw_ask(struct raw *raw, const void *data, size_t size,
                            struct rdma_answer *answer)
{
    static uint32_t pairs = 77; // a pair that asks twice would be taken for a repetition
    struct rdma_conn_param ask = {.private_data = data,
                                  .private_data_len = (uint8_t)size,
                                  .qp_num = pairs++};
    struct rdma_address to, from;
    int status;

    raw_open(raw);
    rdma_address_parse(getenv("RDMA_VM_ADDRESS_0"), port, &to);
    rdma_address_parse(getenv("RDMA_VM_ADDRESS_1"), 0, &from);
    if (verbs.rdma_resolve_addr(raw->id, &from.base, &to.base, 2000) ||
        raw_await(raw, &status, NULL, NULL, 0) != RDMA_CM_EVENT_ADDR_RESOLVED ||
        verbs.rdma_resolve_route(raw->id, 2000) ||
        raw_await(raw, &status, NULL, NULL, 0) != RDMA_CM_EVENT_ROUTE_RESOLVED)
        bail("the way is not found");
    if (verbs.rdma_connect(raw->id, &ask))
        bail("cannot ask: %s", strerror(errno));
    switch (raw_await(raw, &status, NULL, answer, answer ? sizeof(*answer) : 0)) {
    case RDMA_CM_EVENT_CONNECT_RESPONSE: return ACCEPTED;
    case RDMA_CM_EVENT_REJECTED: return status == 28 ? TURNED_AWAY : NOBODY_THERE;
    default: return SOMETHING_ELSE;
    }
}

static struct rdma_hello proper_hello(uint16_t channel)
{
    struct rdma_hello hello = {.magic = RDMA_MAGIC, .version = RDMA_VERSION, .channel = channel};

    memcpy(hello.token, pair_token, sizeof(hello.token));
    return hello;
}

static void expect_refusal(const struct rdma_hello *hello, size_t size, const char *what)
{
    struct raw raw;

    is_int(raw_ask(&raw, hello, size, NULL), TURNED_AWAY, "%s is turned away", what);
    raw_close(&raw);
}

static void check_served_after(struct accepting *accepting, const char *what)
{
    struct link *link = NULL;
    char text[300];

    is_int(connect_properly(port, 5000, &link, text), 0, "after %s a client is served", what);
    is_int(accept_join(accepting), 0, "and accepted");
    ok(link && send_value(link, 64, 4) && receive_value(accepting->link, 5000) == 4,
       "over a link that works");
    link_free(&link);
    link_free(&accepting->link);
}

static void check_hellos(void)
{
    struct rdma_hello hello = proper_hello(RDMA_COMMANDS);
    struct accepting accepting;

    listen_anew();
    accept_start(&accepting, 30000);
    expect_refusal(NULL, 0, "a request without data");
    expect_refusal(&hello, 12, "one that is cut off before the token");
    hello.magic++;
    expect_refusal(&hello, sizeof(hello), "another protocol");
    hello = proper_hello(RDMA_COMMANDS);
    hello.version--;
    expect_refusal(&hello, sizeof(hello), "another version");
    hello = proper_hello(RDMA_CHANNELS);
    expect_refusal(&hello, sizeof(hello), "a channel that does not exist");
    hello = proper_hello(RDMA_BULK);
    hello.token[31] ^= 1;
    expect_refusal(&hello, sizeof(hello), "a token that is wrong in its last bit");
    check_served_after(&accepting, "all of them");
}

// A second connection for a channel that is taken, with the right token.
static void check_duplicates(enum rdma_channel channel, const char *name)
{
    struct rdma_hello hello = proper_hello(channel);
    struct rdma_answer answer = {0};
    struct accepting accepting;
    struct raw first;
    char what[100];

    listen_anew();
    accept_start(&accepting, 30000);
    hello.mtu = 1;
    is_int(raw_ask(&first, &hello, sizeof(hello), &answer), ACCEPTED, "a first %s channel", name);
    is_int(answer.mtu, 256, "no packet is smaller than the smallest that there is");
    snprintf(what, sizeof(what), "a second %s channel with the same token", name);
    expect_refusal(&hello, sizeof(hello), what);
    raw_close(&first);
    is_int(accept_join(&accepting), -ECONNABORTED, "a client that goes before it is there");
    accept_start(&accepting, 30000);
    check_served_after(&accepting, "it");
}

// The second channel comes when the worker has stopped waiting, or never.
static void check_late(void)
{
    struct rdma_hello hello = proper_hello(RDMA_COMMANDS);
    struct accepting accepting;
    struct raw first, late;

    listen_anew();
    accept_start(&accepting, 3000);
    is_int(raw_ask(&first, &hello, sizeof(hello), NULL), ACCEPTED, "a client with one channel");
    is_int(verbs.rdma_establish(first.id), 0, "which stands");
    is_int(accept_join(&accepting), -ETIMEDOUT, "is given up when the other does not come");
    rdma_listener_free(&listener);
    hello.channel = RDMA_BULK;
    is_int(raw_ask(&late, &hello, sizeof(hello), NULL), NOBODY_THERE, "which is too late then");
    raw_close(&first);
    raw_close(&late);
}

// ---- workers that are none ----

struct impostor {
    pthread_t thread;
    struct raw raw;
    struct rdma_cm_id *client;
    const void *answer; // NULL: none
    size_t size;
    bool reject;
};

static void *impostor_main(void *argument)
{
    struct impostor *impostor = argument;
    struct rdma_conn_param accept = {.private_data = impostor->answer,
                                     .private_data_len = (uint8_t)impostor->size,
                                     .qp_num = 77};
    int status;

    if (raw_await(&impostor->raw, &status, &impostor->client, NULL, 0) !=
        RDMA_CM_EVENT_CONNECT_REQUEST)
        bail("no request");
    if (impostor->reject)
        verbs.rdma_reject(impostor->client, NULL, 0);
    else if (impostor->answer)
        verbs.rdma_accept(impostor->client, &accept);
    return NULL;
}

static int client_of(struct impostor *impostor, int timeout_ms, char *text)
{
    struct rdma_address address;
    struct link *link = NULL;

    raw_open(&impostor->raw);
    rdma_address_parse(getenv("RDMA_VM_ADDRESS_0"), 0, &address);
    if (verbs.rdma_bind_addr(impostor->raw.id, &address.base) ||
        verbs.rdma_listen(impostor->raw.id, 1))
        bail("cannot listen: %s", strerror(errno));
    if (pthread_create(&impostor->thread, NULL, impostor_main, impostor))
        bail("no thread");
    int r =
        connect_properly(ntohs(verbs.rdma_get_src_port(impostor->raw.id)), timeout_ms, &link, text);
    pthread_join(impostor->thread, NULL);
    verbs.rdma_destroy_id(impostor->client);
    raw_close(&impostor->raw);
    return r;
}

static void check_impostors(void)
{
    struct rdma_answer answer = {.magic = RDMA_MAGIC, .version = RDMA_VERSION + 1, .mtu = 1024};
    struct link *link = NULL;
    char text[300];

    is_int(connect_properly(port, 5000, &link, text), -ECONNREFUSED, "where nobody listens");
    ok(strstr(text, "nobody listens"), "that is the reason: %s", text);
    is_int(client_of(&(struct impostor){.reject = true}, 5000, text), -EACCES,
           "a listener that refuses");
    is_int(client_of(&(struct impostor){.answer = &answer, .size = sizeof(answer)}, 5000, text),
           -EPROTO, "an answer of another version");
    ok(strstr(text, "another version"), "that is the reason: %s", text);
    answer = (struct rdma_answer){.magic = RDMA_MAGIC, .version = RDMA_VERSION};
    is_int(client_of(&(struct impostor){.answer = &answer, .size = sizeof(answer)}, 5000, text),
           -EPROTO, "an answer without a size of packets");
    is_int(client_of(&(struct impostor){.answer = &answer, .size = 4}, 5000, text), -EPROTO,
           "an answer that is cut off");
    is_int(client_of(&(struct impostor){0}, 2000, text), -ETIMEDOUT, "no answer at all");
    ok(strstr(text, "no answer in time"), "that is the reason: %s", text);
}

int main(void)
{
    char text[300];

    if (rdma_verbs_load(text, sizeof(text)) || shm_memory_new(&options, &memory))
        bail("no verbs or memory: %s", text);
    check_hellos();
    check_duplicates(RDMA_COMMANDS, "command");
    check_duplicates(RDMA_BULK, "bulk");
    check_late();
    check_impostors();
    shm_memory_free(&memory);
    return done();
}
