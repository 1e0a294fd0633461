// SPDX-License-Identifier: BSD-3-Clause
// A thread makes each call, because the other box may be slow. Workers may not connect to anything
// themselves; they get only connections to supervisors that know the token. Other programs at these
// addresses learn nothing, and the worker gets no data from them.
#include "daemon/rgpud/workers/box_calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "common/net/expected_connection.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/net/worker_socket.h"
#include "daemon/rgpud/workers/client_sockets.h"
#include "daemon/rgpud/box/limits.h"
#include "daemon/rgpud/box/listeners.h"

enum {
    ADDRESSES_MAX = 16,
    CONNECT_MS = 2000,
    PROOF_MS = 5000,
};

// ---- expecting ----

static bool is_wildcard(const struct endpoint *endpoint)
{
    return !*endpoint->host || !strcmp(endpoint->host, "0.0.0.0") || !strcmp(endpoint->host, "::");
}

__attribute__((format(printf, 3, 4))) static void add_text(char *text, size_t room,
                                                           const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    int more = vsnprintf(text + used, room - used, format, args);
    va_end(args);
    if (more < 0 || (size_t)more >= room - used)
        text[used] = '\0';
}

static void add_endpoint(char *text, size_t room, const struct endpoint *endpoint)
{
    char one[ENDPOINT_TEXT_MAX];

    if (endpoint->is_unix)
        return;
    endpoint_format(endpoint, one);
    add_text(text, room, "%s%s", *text ? "," : "", one);
}

// Adds the addresses of this host's interfaces, except loopback.
static void box_calls_add_interfaces(char *text, size_t room, uint16_t port)
{
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all))
        return;
    for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
        struct endpoint endpoint = {.port = port};
        bool is_4 = at->ifa_addr && at->ifa_addr->sa_family == AF_INET;
        bool is_6 = at->ifa_addr && at->ifa_addr->sa_family == AF_INET6;
        socklen_t size = is_4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        if ((!is_4 && !is_6) || (at->ifa_flags & IFF_LOOPBACK) || !(at->ifa_flags & IFF_UP) ||
            getnameinfo(at->ifa_addr, size, endpoint.host, sizeof(endpoint.host), NULL, 0,
                        NI_NUMERICHOST) ||
            strchr(endpoint.host, '%')) // only valid on one link
            continue;
        add_endpoint(text, room, &endpoint);
    }
    freeifaddrs(all);
}

// Lists the addresses at which other boxes reach this one: the announced ones and those it listens
// on.
static void own_addresses(const struct box *box, char *text, size_t room)
{
    struct endpoint list[ADDRESSES_MAX];
    char listened[1024];

    text[0] = '\0';
    for (char **name = box->settings.announce; *name; name++)
        if (!endpoint_parse(*name, ENDPOINT_DEFAULT_PORT, &list[0]))
            add_endpoint(text, room, &list[0]);
    listeners_text(box, listened, sizeof(listened));
    int count = endpoint_parse_list(listened, 0, list, ADDRESSES_MAX);
    for (int i = 0; i < count; i++)
        if (!is_wildcard(&list[i]))
            add_endpoint(text, room, &list[i]);
        else if (!list[i].is_unix)
            box_calls_add_interfaces(text, room, list[i].port);
}

static void expect_one(struct worker_process *worker, uint32_t number,
                       const uint8_t token[CONTROL_TOKEN_BYTES])
{
    struct expected_call *slot = &worker->expects[worker->next_expected++ % EXPECTED_CALLS_MAX];

    *slot = (struct expected_call){.number = number, .open = true};
    memcpy(slot->token, token, sizeof(slot->token));
    worker->unkept = true;
}

void box_calls_expect_extra(struct worker_process *worker, const struct control_grant *grant)
{
    for (unsigned i = 0; i < grant->extra_connections; i++)
        expect_one(worker, CONTROL_EXTRA_NUMBER + i, grant->extra_token);
    worker->resumes =
        (struct expected_call){.open = grant->reconnect_ms, .number = CONTROL_RESUME_NUMBER};
    memcpy(worker->resumes.token, grant->resume_token, sizeof(worker->resumes.token));
}

int box_calls_expect(struct worker_process *worker, const struct control_peer_expect *expect)
{
    struct control_peer_expected answer = {.request = expect->request};
    struct box *box = worker->box;

    if (!worker->session.id)
        return -EPROTO;
    if (!box->settings.peer_links) {
        snprintf(answer.refusal, sizeof(answer.refusal), "peer_links=no on box %.80s", box->name);
    } else {
        expect_one(worker, expect->request, expect->token);
        own_addresses(box, answer.addresses, sizeof(answer.addresses));
    }
    return control_send_packet(worker->control_fd, CONTROL_PEER_EXPECTED, &answer, -1);
}

bool box_calls_expected(const struct box *box)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link) {
        if (worker->resumes.open)
            return true;
        for (unsigned i = 0; i < EXPECTED_CALLS_MAX; i++)
            if (worker->expects[i].open)
                return true;
    }
    return false;
}

static struct expected_call *find_call(const struct box *box, unsigned long long session,
                                       unsigned number, struct worker_process **out)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link) {
        if (worker->session.id != session)
            continue;
        *out = worker;
        if (number >= CONTROL_RESUME_NUMBER)
            return worker->resumes.open ? &worker->resumes : NULL;
        for (unsigned i = 0; i < EXPECTED_CALLS_MAX; i++)
            if (worker->expects[i].open && worker->expects[i].number == number)
                return &worker->expects[i];
    }
    return NULL;
}

int box_calls_find(struct client *client, const void *identity, uint8_t key[TLS_SECRET_BYTES])
{
    struct worker_process *worker;
    uint64_t session;
    uint32_t number;

    if (expected_connection_parse(identity, &session, &number))
        return -ENOENT;
    const struct expected_call *expected = find_call(client->box, session, number, &worker);
    if (!expected)
        return -ENOENT;
    memcpy(key, expected->token, TLS_SECRET_BYTES);
    client->called_session = session;
    client->called_number = number;
    return 0;
}

// A call serves once, but a session may lose its connection more than once.
static void call_taken(struct worker_process *worker, struct expected_call *expected,
                       const struct client *client)
{
    uint32_t number = expected->number;

    if (number != CONTROL_RESUME_NUMBER)
        *expected = (struct expected_call){0};
    worker->unkept = true;
    box_changed(worker->box);
    log_info("session=%llu has one more connection of=%s peer=%s",
             (unsigned long long)worker->session.id,
             number < CONTROL_EXTRA_NUMBER ? "another box" : "its client", client->peer);
}

void box_calls_take(struct client *client)
{
    struct control_peer_taken taken = {.magic = CONTROL_MAGIC};
    struct control_peer_came came = {.number = client->called_number};
    struct worker_process *worker = NULL;
    struct expected_call *expected =
        find_call(client->box, client->called_session, client->called_number, &worker);
    int err = expected ? tls_export(client->tls, came.secret) : -ENOENT;

    if (!err)
        err = client_reply(client, CONTROL_PEER_TAKEN, &taken);
    if (!err)
        err = control_send_packet(worker->control_fd, CONTROL_PEER_CAME, &came, client->fd);
    if (!err) {
        call_taken(worker, expected, client);
    } else {
        log_info("a further connection is not taken peer=%s error=\"%s\"", client->peer,
                 strerror(-err));
    }
    explicit_bzero(came.secret, sizeof(came.secret));
    client_free(client);
}

// ---- calling ----

struct call_out {
    TAILQ_ENTRY(call_out) link;
    struct limit_holder *counted; // what limits_give() needs
    _Atomic bool over;            // its thread has ended
    int worker;                   // a copy of the worker's socket
    uint64_t session;
    char name[sizeof(
        // of a worker's socket; empty: the call goes to another box
        ((struct control_peer_reach *)0)->name)];
    char directory[CLIENT_SOCKETS_ROOM];
    struct control_peer_call call;
};

static TAILQ_HEAD(, call_out) calls = TAILQ_HEAD_INITIALIZER(calls);

// Accepts numeric addresses only. To resolve a name for a worker would let the worker query a name
// server.
static bool is_address(const struct endpoint *endpoint)
{
    uint8_t bytes[16];

    return !endpoint->is_unix && endpoint->port &&
           (inet_pton(AF_INET, endpoint->host, bytes) == 1 ||
            inet_pton(AF_INET6, endpoint->host, bytes) == 1);
}

static int call_one(const struct call_out *out, const struct endpoint *endpoint,
                    struct control_peer_called *answer)
{
    char where[ENDPOINT_TEXT_MAX];

    endpoint_format(endpoint, where);
    int fd = endpoint_connect(endpoint, CONNECT_MS);
    int err = fd < 0 ? fd
                     : expected_connection_prove(fd, out->call.session, out->call.number,
                                                 out->call.token, clock_ms() + PROOF_MS,
                                                 answer->secret);
    log_info("session=%llu calls another box at=%s %s%s", (unsigned long long)out->session, where,
             err ? "error=" : "connected", err ? strerror(-err) : "");
    if (err && fd >= 0)
        close(fd);
    if (!err)
        snprintf(answer->address, sizeof(answer->address), "%.*s", (int)sizeof(answer->address) - 1,
                 where);
    return err ? err : fd;
}

static int call_any(const struct call_out *out, struct control_peer_called *answer)
{
    struct endpoint list[ADDRESSES_MAX];
    int count = endpoint_parse_list(out->call.addresses, 0, list, ADDRESSES_MAX), fd = -1;

    for (int i = 0; i < count && fd < 0; i++)
        if (is_address(&list[i]))
            fd = call_one(out, &list[i], answer);
    // The worker gets only this result. It does not learn which addresses accept connections.
    if (fd < 0)
        snprintf(answer->refusal, sizeof(answer->refusal),
                 "the other box is not reached at any of its addresses");
    return fd;
}

// Connects to another worker's socket. That worker accepts only peers with its own token.
static int reach(const struct call_out *out, struct control_peer_called *answer)
{
    int fd = worker_socket_reach(out->name, out->directory, CONNECT_MS);

    log_debug("session=%llu reaches for another worker name=%s error=\"%s\"",
              (unsigned long long)out->session, out->name, fd < 0 ? strerror(-fd) : "");
    if (fd < 0)
        snprintf(answer->refusal, sizeof(answer->refusal), "%s", strerror(-fd));
    return fd;
}

static void *make_call(void *argument)
{
    struct call_out *out = argument;
    struct control_peer_called answer = {.request = out->call.request};
    int fd = *out->name ? reach(out, &answer) : call_any(out, &answer);

    if (control_send_packet(out->worker, CONTROL_PEER_CALLED, &answer, fd))
        log_debug("session=%llu is gone while it was connected", (unsigned long long)out->session);
    explicit_bzero(&answer, sizeof(answer));
    if (fd >= 0)
        close(fd);
    close(out->worker);
    explicit_bzero(&out->call, sizeof(out->call));
    atomic_store(&out->over, true);
    return NULL;
}

static int start_call(struct call_out *out)
{
    sigset_t all, before;
    pthread_t thread;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&thread, NULL, make_call, out);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!err)
        pthread_detach(thread);
    return err;
}

static void end_call(struct box *box, struct call_out *out)
{
    TAILQ_REMOVE(&calls, out, link);
    limits_give(box->limits, LIMITED_PEER_CALLS, &out->counted);
    free(out);
}

void box_calls_settle(struct box *box)
{
    struct call_out *out, *next;

    for (out = TAILQ_FIRST(&calls); out; out = next) {
        next = TAILQ_NEXT(out, link);
        if (atomic_load(&out->over))
            end_call(box, out);
    }
}

// NAME has the meaning of `name` in struct call_out.
static bool begin_call(struct worker_process *worker, const struct control_peer_call *call,
                       const char *name)
{
    struct box *box = worker->box;
    const char *directory = box->settings.client_sockets;
    struct call_out *out = calloc(1, sizeof(*out));

    box_calls_settle(box);
    if (!out || limits_take(box->limits, LIMITED_PEER_CALLS, worker->session.id,
                            worker->session.grant.lease, &out->counted)) {
        free(out);
        return false;
    }
    out->worker = fcntl(worker->control_fd, F_DUPFD_CLOEXEC, 0);
    out->session = worker->session.id;
    out->call = *call;
    snprintf(out->name, sizeof(out->name), "%s", name);
    snprintf(out->directory, sizeof(out->directory), "%s", directory ? directory : "");
    TAILQ_INSERT_TAIL(&calls, out, link);
    if (out->worker >= 0 && !start_call(out))
        return true;
    if (out->worker >= 0)
        close(out->worker);
    end_call(box, out);
    return false;
}

static int make(struct worker_process *worker, const struct control_peer_call *call,
                const char *name)
{
    struct control_peer_called answer = {.request = call->request};
    struct box *box = worker->box;

    if (!worker->session.id)
        return -EPROTO;
    if (!box->settings.peer_links)
        snprintf(answer.refusal, sizeof(answer.refusal), "peer_links=no on box %.80s", box->name);
    else if (begin_call(worker, call, name))
        return 0;
    else
        snprintf(answer.refusal, sizeof(answer.refusal), "box %.80s has too many calls under way",
                 box->name);
    return control_send_packet(worker->control_fd, CONTROL_PEER_CALLED, &answer, -1);
}

int box_calls_make(struct worker_process *worker, const struct control_peer_call *call)
{
    return make(worker, call, "");
}

int box_calls_reach(struct worker_process *worker, const struct control_peer_reach *wanted)
{
    const struct control_peer_call call = {.request = wanted->request};

    return *wanted->name ? make(worker, &call, wanted->name) : -EPROTO;
}
