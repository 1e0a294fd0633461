// The handshake with a client: nothing is done before a message has arrived whole and is valid, and
// never a byte more is read than that message, since the socket is handed on afterwards. A client with
// a ticket says everything inside TLS, whose pre-shared key is the ticket's signature.
#include "daemon/client.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/endpoint.h"
#include "common/log_limit.h"
#include "common/tls.h"
#include "daemon/accounts.h"
#include "daemon/broker_agent.h"
#include "daemon/exclusion.h"
#include "daemon/worker.h"

enum {
    QUEUE_INTERVAL_MS = 1000,
    LINGER_MS = 1000,         // how long a refused client may take to read why
    LINGER_BYTES = 256 * 1024,
    TELL_INTERVAL_MS = 1000,
    HEARD_FIRST = 8,
    REPLY_MAX = 2048,
};

struct client {
    TAILQ_ENTRY(client) link;
    struct box *box;
    enum client_state state;
    int fd;
    struct tls *tls; // NULL: plain
    uint8_t origin[ENDPOINT_ORIGIN_BYTES]; // whom the connection is counted to
    char peer[128];
    struct event *readable;
    struct event *timer;
    uint8_t head[CONTROL_HEADER_BYTES];
    struct control_frame frame;
    size_t received; // of head and body together
    uint16_t version;
    struct control_hello hello;
    struct ticket *ticket; // believed once TLS stands
    int ticket_problem;    // why there is no secret for what it shows
    bool resolved;
    struct session_grant grant;
    int64_t queued_ms;
    size_t discarded;
};

// Whoever can connect can be refused as often as he likes.
static struct log_limit refused_lines = LOG_LIMIT(20, 60);

static const char *const state_names[] = {
    [CLIENT_ARRIVED] = "arrived",   [CLIENT_PROVING] = "proving",
    [CLIENT_GREETING] = "greeting", [CLIENT_QUEUED] = "queued",
    [CLIENT_REFUSED] = "refused",   [CLIENT_GONE] = "gone",
};

static const int refusal_results[] = {
    [CONTROL_REFUSAL_VERSION] = CONTROL_RESULT_MISMATCH,
    [CONTROL_REFUSAL_AUTHENTICATION] = CONTROL_RESULT_NOT_PERMITTED,
    [CONTROL_REFUSAL_BUSY] = CONTROL_RESULT_NOT_READY,
    [CONTROL_REFUSAL_DRAINING] = CONTROL_RESULT_NOT_READY,
    [CONTROL_REFUSAL_NO_DEVICE] = CONTROL_RESULT_NO_DEVICE,
    [CONTROL_REFUSAL_WORKER] = CONTROL_RESULT_NOT_READY,
    [CONTROL_REFUSAL_PROTOCOL] = CONTROL_RESULT_MISMATCH,
    [CONTROL_REFUSAL_TIMEOUT] = CONTROL_RESULT_NOT_READY,
    [CONTROL_REFUSAL_BUDGET] = CONTROL_RESULT_OUT_OF_MEMORY,
};

const char *client_state_name(enum client_state state)
{
    return state_names[state];
}

// States that an unauthenticated peer can hold on to; their number is limited.
static bool counts_as_handshake(enum client_state state)
{
    switch (state) {
    case CLIENT_ARRIVED:
    case CLIENT_PROVING:
    case CLIENT_GREETING:
    case CLIENT_REFUSED:
        return true;
    case CLIENT_QUEUED:
    case CLIENT_GONE:
        return false;
    }
    return false;
}

static void client_move(struct client *client, enum client_state state)
{
    struct box *box = client->box;

    log_trace("peer=%s state=%s was=%s", client->peer, state_names[state],
              state_names[client->state]);
    box->handshakes -= counts_as_handshake(client->state);
    client->state = state;
    box->handshakes += counts_as_handshake(client->state);
}

static void set_timer(struct client *client, uint64_t milliseconds)
{
    struct timeval delay = {.tv_sec = (time_t)(milliseconds / 1000),
                            .tv_usec = (suseconds_t)(milliseconds % 1000 * 1000)};

    evtimer_add(client->timer, &delay);
}

static void client_free(struct client *client)
{
    client_move(client, CLIENT_GONE);
    TAILQ_REMOVE(&client->box->clients, client, link);
    if (client->readable)
        event_free(client->readable);
    if (client->timer)
        event_free(client->timer);
    tls_free(&client->tls);
    close(client->fd);
    control_frame_free(&client->frame);
    free(client->ticket);
    free(client);
}

// The few and small replies always fit into the fresh socket's buffer; a peer for which they do not
// is not worth waiting for.
static int reply(struct client *client, enum control_message_type type, const void *message)
{
    uint8_t frame[REPLY_MAX];
    int size = control_encode(type, message, frame, sizeof(frame));

    if (size < 0)
        return size;
    if (client->tls)
        return tls_send(client->tls, frame, (size_t)size) == size ? 0 : -EPIPE;
    ssize_t sent = send(client->fd, frame, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0)
        return -errno;
    return sent == size ? 0 : -EPIPE;
}

// Sends the reason and then only discards, until the peer has read it and closes: closing at once,
// with data unread, would make the kernel throw the reason away.
__attribute__((format(printf, 3, 4)))
static void refuse(struct client *client, enum control_refusal code, const char *format, ...)
{
    struct control_refused refused = {.code = code, .result = refusal_results[code]};
    va_list args;

    va_start(args, format);
    vsnprintf(refused.text, sizeof(refused.text), format, args);
    va_end(args);
    for (char *p = refused.text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    log_limited(&refused_lines, LOG_LEVEL_INFO,
                "client refused peer=%s state=%s code=%s reason=\"%s\"", client->peer,
                state_names[client->state], control_refusal_name(code), refused.text);
    // Before TLS stands only its own alert can be said, and has been.
    if ((client->state != CLIENT_PROVING && reply(client, CONTROL_REFUSED, &refused)) ||
        shutdown(client->fd, SHUT_WR)) {
        client_free(client);
        return;
    }
    client_move(client, CLIENT_REFUSED);
    set_timer(client, LINGER_MS);
}

// ---- messages ----

static void enqueue(struct client *client)
{
    client->queued_ms = control_now_ms();
    client_move(client, CLIENT_QUEUED);
    // Oldest first: the list is in order of arrival, the queue in order of readiness.
    TAILQ_REMOVE(&client->box->clients, client, link);
    TAILQ_INSERT_TAIL(&client->box->clients, client, link);
    evtimer_del(client->timer);
    client_serve_queue(client->box);
}

// Over a unix socket the kernel tells who connects, so a ticket that got into other hands is no use.
static bool is_stolen(const struct client *client)
{
    struct sockaddr_storage address;
    struct ucred peer;
    socklen_t size = sizeof(address), peer_size = sizeof(peer);

    if (!client->ticket || getsockname(client->fd, (struct sockaddr *)&address, &size) ||
        address.ss_family != AF_UNIX)
        return false;
    return getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) ||
           (peer.uid != client->ticket->owner && peer.uid != 0);
}

// What the session gets: the strictest of what box, ticket and client ask for.
static enum control_protection protection_of(const struct client *client)
{
    enum control_protection protection = CONTROL_PROTECTION_NONE;

    if (!client->tls)
        return protection;
    protection = (enum control_protection)(client->box->settings.protection +
                                           CONTROL_PROTECTION_AUTHENTICATE);
    if (client->ticket->protection > protection)
        protection = client->ticket->protection;
    return client->hello.protection > protection ? client->hello.protection : protection;
}

// From HELLO until the grant it is the box that speaks.
static bool speaks_out_of_turn(const struct client *client)
{
    uint8_t byte;

    return recv(client->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0 ||
           (client->tls && tls_pending(client->tls));
}

// Sessions of the client's lease, those that still wait for their worker included.
static unsigned sessions_of_lease(const struct client *client)
{
    const struct worker *worker;
    struct client *other = NULL;
    unsigned count = 0;

    TAILQ_FOREACH(worker, &client->box->workers, link)
        count += worker->session.id &&
                 !strcmp(worker->session.grant.lease, client->ticket->lease);
    while ((other = client_next_queued(client->box, other)))
        count += other->ticket && !strcmp(other->ticket->lease, client->ticket->lease);
    return count;
}

static bool lease_is_full(const struct client *client)
{
    unsigned most = (unsigned)client->box->settings.max_sessions_per_lease;

    return most && client->ticket && sessions_of_lease(client) >= most;
}

static void admit(struct client *client)
{
    struct box *box = client->box;
    int problem = client->ticket ? auth_check_use(box, client->ticket) : 0;

    if (speaks_out_of_turn(client))
        refuse(client, CONTROL_REFUSAL_PROTOCOL, "a message out of order, right after HELLO");
    else if (problem)
        refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "the ticket is not accepted: %s",
               ticket_error(problem));
    else if (!client->tls && box->settings.auth == AUTH_TICKET)
        refuse(client, CONTROL_REFUSAL_AUTHENTICATION,
               "this box asks for a ticket: set RGPU_TICKET_FILE, or take a lease with rgpuctl run");
    else if (!client->tls && client->hello.protection > CONTROL_PROTECTION_NONE)
        refuse(client, CONTROL_REFUSAL_AUTHENTICATION,
               "RGPU_PROTECTION=%s needs a ticket, and this box (--standalone) knows none",
               control_protection_name(client->hello.protection));
    else if (lease_is_full(client))
        refuse(client, CONTROL_REFUSAL_BUSY,
               "lease %.100s has as many sessions on this box as max_sessions_per_lease allows (%lld)",
               client->ticket->lease, (long long)box->settings.max_sessions_per_lease);
    else if (client_count_queued(box) >= (unsigned)box->settings.max_queued)
        refuse(client, CONTROL_REFUSAL_BUSY, "%u clients already wait for this box",
               client_count_queued(box));
    else if (is_stolen(client))
        refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "the ticket is another user's");
    else if (!box_accepts_sessions(box))
        refuse(client, CONTROL_REFUSAL_DRAINING,
               "the box takes no new sessions (it is being drained); use another one");
    else
        enqueue(client);
}

static void take_hello(struct client *client)
{
    struct box *box = client->box;
    struct control_hello *hello = &client->hello;
    struct control_hello_reply answer = {.magic = CONTROL_MAGIC};

    if (control_decode(&client->frame, CONTROL_HELLO, hello) || hello->magic != CONTROL_MAGIC ||
        hello->version_oldest > hello->version_newest) {
        refuse(client, CONTROL_REFUSAL_PROTOCOL, "malformed HELLO");
        return;
    }
    client->version =
        hello->version_newest < CONTROL_VERSION ? hello->version_newest : CONTROL_VERSION;
    if (client->version < hello->version_oldest || client->version < CONTROL_VERSION_OLDEST) {
        refuse(client, CONTROL_REFUSAL_VERSION,
               "the client library %s speaks protocol versions %u to %u, this box (%s) %u to %u: "
               "install the same release on both", hello->library, hello->version_oldest,
               hello->version_newest, RGPU_VERSION, CONTROL_VERSION_OLDEST, CONTROL_VERSION);
        return;
    }
    answer.version = client->version;
    memcpy(answer.boot_id, box->boot_id, sizeof(answer.boot_id));
    snprintf(answer.box, sizeof(answer.box), "%s", box->name);
    if (reply(client, CONTROL_HELLO_REPLY, &answer))
        client_free(client);
    else
        admit(client);
}

// ---- reading ----

static ssize_t receive_part(struct client *client, uint8_t *data, size_t size)
{
    ssize_t n = client->tls ? tls_receive(client->tls, data, size)
                            : recv(client->fd, data, size, MSG_DONTWAIT);

    if (n < 0)
        return client->tls ? n : errno == EINTR ? -EAGAIN : -errno;
    if (!n)
        return -ECONNRESET;
    client->received += (size_t)n;
    return n;
}

static int take_header(struct client *client)
{
    struct control_frame *frame = &client->frame;

    if (control_parse_header(client->head, &frame->header))
        return -EBADMSG;
    if (frame->header.type != CONTROL_HELLO)
        return -EPROTO;
    if (frame->header.size > frame->capacity) {
        uint8_t *body = realloc(frame->body, frame->header.size);
        if (!body)
            return -ENOMEM;
        frame->body = body;
        frame->capacity = frame->header.size;
    }
    return 0;
}

// 0 when a whole frame is there, -EAGAIN when more must come, else the end.
static int receive_frame(struct client *client)
{
    while (client->received < CONTROL_HEADER_BYTES) {
        ssize_t n = receive_part(client, client->head + client->received,
                                 CONTROL_HEADER_BYTES - client->received);
        if (n < 0)
            return (int)n;
        if (client->received == CONTROL_HEADER_BYTES) {
            int err = take_header(client);
            if (err)
                return err;
        }
    }
    size_t whole = CONTROL_HEADER_BYTES + client->frame.header.size;
    while (client->received < whole) {
        size_t have = client->received - CONTROL_HEADER_BYTES;
        ssize_t n = receive_part(client, client->frame.body + have, whole - client->received);
        if (n < 0)
            return (int)n;
    }
    client->received = 0;
    return 0;
}

static void read_message(struct client *client)
{
    int err = receive_frame(client);

    if (err == -EAGAIN)
        return;
    if (err == -EBADMSG || err == -EPROTO) {
        refuse(client, CONTROL_REFUSAL_PROTOCOL,
               "this is not the rgpu protocol, or a message out of order (HELLO expected)");
    } else if (err) {
        log_debug("client left peer=%s state=%s error=\"%s\"", client->peer,
                  state_names[client->state], strerror(-err));
        client_free(client);
    } else {
        take_hello(client);
    }
}

// ---- TLS ----

static int find_secret(void *opaque, const void *identity, size_t size, uint8_t key[TLS_SECRET_BYTES])
{
    struct client *client = opaque;

    free(client->ticket);
    client->ticket = calloc(1, sizeof(*client->ticket));
    client->ticket_problem =
        client->ticket ? auth_recompute(client->box, identity, size, key, client->ticket) : -ENOMEM;
    return client->ticket_problem;
}

static void prove(struct client *client)
{
    int err = tls_handshake(client->tls);

    if (err == -EAGAIN)
        return;
    if (!err)
        client_move(client, CLIENT_GREETING);
    else if (client->ticket_problem)
        refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "the ticket is not accepted: %s",
               ticket_error(client->ticket_problem));
    else if (err == -EPROTO)
        refuse(client, CONTROL_REFUSAL_AUTHENTICATION,
               "the client does not prove that it has the ticket%s%.200s: %s",
               client->ticket ? " of lease " : "", client->ticket ? client->ticket->lease : "",
               tls_problem(client->tls));
    else
        client_free(client);
}

// A record of TLS begins with 0x16 0x03. What else can begin so is told apart by what follows.
static bool begins_tls(int fd, ssize_t *seen)
{
    uint8_t first[2];

    *seen = recv(fd, first, sizeof(first), MSG_DONTWAIT | MSG_PEEK);
    return *seen > 0 && first[0] == 0x16 && (*seen == 1 || first[1] == 0x03);
}

static void arrive(struct client *client)
{
    ssize_t seen;
    bool tls = begins_tls(client->fd, &seen);

    if (seen < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (seen <= 0) {
        client_free(client);
    } else if (!tls || client->box->settings.auth != AUTH_TICKET) {
        client_move(client, CLIENT_GREETING);
        read_message(client);
    } else if (tls_server(client->fd, find_secret, client, false, &client->tls)) {
        client_free(client);
    } else {
        client_move(client, CLIENT_PROVING);
        prove(client);
    }
}

static void watch_queued(struct client *client)
{
    uint8_t byte;
    ssize_t n = recv(client->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

    if (n > 0) {
        refuse(client, CONTROL_REFUSAL_PROTOCOL, "a message out of order while queued");
    } else if (!n || (errno != EAGAIN && errno != EINTR)) {
        log_info("client left the queue peer=%s waited_ms=%lld", client->peer,
                 (long long)(control_now_ms() - client->queued_ms));
        client_free(client);
    }
}

static void discard(struct client *client)
{
    uint8_t waste[4096];
    ssize_t n = recv(client->fd, waste, sizeof(waste), MSG_DONTWAIT);

    if (n > 0)
        client->discarded += (size_t)n;
    if (!n || (n < 0 && errno != EAGAIN && errno != EINTR) || client->discarded > LINGER_BYTES)
        client_free(client);
}

static void client_readable(evutil_socket_t fd, short events, void *opaque)
{
    struct client *client = opaque;

    switch (client->state) {
    case CLIENT_ARRIVED:
        arrive(client);
        return;
    case CLIENT_PROVING:
        prove(client);
        return;
    case CLIENT_GREETING:
        read_message(client);
        return;
    case CLIENT_QUEUED:
        watch_queued(client);
        return;
    case CLIENT_REFUSED:
        discard(client);
        return;
    case CLIENT_GONE:
        return;
    }
}

// ---- the queue ----

struct client *client_next_queued(struct box *box, struct client *after)
{
    struct client *client = after ? TAILQ_NEXT(after, link) : TAILQ_FIRST(&box->clients);

    while (client && client->state != CLIENT_QUEUED)
        client = TAILQ_NEXT(client, link);
    return client;
}

unsigned client_count_queued(struct box *box)
{
    struct client *client;
    unsigned count = 0;

    for (client = client_next_queued(box, NULL); client; client = client_next_queued(box, client))
        count++;
    return count;
}

const struct device *client_first_device(const struct client *client)
{
    return client->resolved ? client->grant.devices[0] : NULL;
}

device_set client_device_set(const struct client *client)
{
    return client->resolved ? device_set_of(&client->grant) : 0;
}

static void tell_queued(struct client *client)
{
    struct control_queued queued = {.interval_ms = QUEUE_INTERVAL_MS};
    struct client *other;

    for (other = client_next_queued(client->box, NULL); other && other != client;
         other = client_next_queued(client->box, other))
        queued.position++;
    if (reply(client, CONTROL_QUEUED, &queued))
        client_free(client);
    else
        set_timer(client, QUEUE_INTERVAL_MS);
}

static void timer_passed(evutil_socket_t fd, short events, void *opaque)
{
    struct client *client = opaque;

    switch (client->state) {
    case CLIENT_ARRIVED:
    case CLIENT_PROVING:
    case CLIENT_GREETING:
        refuse(client, CONTROL_REFUSAL_TIMEOUT,
               "the handshake took longer than handshake_timeout of the box");
        return;
    case CLIENT_QUEUED:
        tell_queued(client);
        return;
    case CLIENT_REFUSED:
        client_free(client);
        return;
    case CLIENT_GONE:
        return;
    }
}

static uint32_t allowed_transports(const struct box *box)
{
    static const enum control_transport offered[] = {CONTROL_TRANSPORT_TCP, CONTROL_TRANSPORT_SHM,
                                                     CONTROL_TRANSPORT_RDMA};
    uint32_t mask = 0;

    for (char **name = box->settings.transports; *name; name++)
        for (size_t i = 0; i < sizeof(offered) / sizeof(offered[0]); i++)
            if (!strcmp(*name, control_transport_name(offered[i])))
                mask |= 1u << offered[i];
    return mask;
}

static int fill_grant(const struct client *client, uint64_t session, struct control_grant *grant)
{
    memset(grant, 0, sizeof(*grant));
    grant->session = session;
    grant->version = client->version;
    grant->transports = allowed_transports(client->box);
    grant->protection = protection_of(client);
    memcpy(grant->client_boot_id, client->hello.boot_id, sizeof(grant->client_boot_id));
    grant->client_pid = client->hello.pid;
    snprintf(grant->lease, sizeof(grant->lease), "%s", client->grant.lease);
    snprintf(grant->client, sizeof(grant->client), "%.200s %u@%.200s", client->hello.program,
             client->hello.pid, client->hello.host);
    grant->devices_count = client->grant.device_count;
    for (uint32_t i = 0; i < grant->devices_count; i++) {
        grant->devices[i].ordinal = client->grant.devices[i]->ordinal;
        grant->devices[i].budget = client->grant.budgets[i];
    }
    return client->tls ? tls_export(client->tls, grant->secret) : 0;
}

static void note_session(struct worker *worker, const struct client *client,
                         const struct control_grant *grant)
{
    struct session *session = &worker->session;

    session->id = grant->session;
    session->grant = client->grant;
    session->since_ms = control_now_ms();
    snprintf(session->client, sizeof(session->client), "%s", grant->client);
    snprintf(session->peer, sizeof(session->peer), "%s", client->peer);
    session->protection = grant->protection;
    for (uint32_t i = 0; i < session->grant.device_count; i++)
        session->grant.devices[i]->sessions++;
    log_info("session=%llu begins pid=%d client=\"%s\" peer=%s device=%s devices=%u lease=%s "
             "protection=%s library=%s waited_ms=%lld", (unsigned long long)session->id,
             (int)worker->pid,
             session->client, session->peer, worker->device->uuid, grant->devices_count,
             *grant->lease ? grant->lease : "none",
             control_protection_name(session->protection), client->hello.library,
             (long long)(session->since_ms - client->queued_ms));
}

// Gives the client the worker, or, where that one has just died, the next warm one.
static bool give_to_worker(struct client *client, struct worker *worker,
                           const struct control_grant *grant, int account)
{
    struct control_granted granted = {.session = grant->session,
                                      .devices = grant->devices_count,
                                      .protection = grant->protection};

    if (reply(client, CONTROL_GRANTED, &granted))
        return false;
    while (worker && worker_grant(worker, grant, client->fd, account))
        worker = worker_find_warm(client->box, client->grant.devices[0],
                                  device_set_of(&client->grant));
    if (!worker)
        log_warn("the worker died, and there is no other peer=%s", client->peer);
    else
        note_session(worker, client, grant);
    return worker != NULL;
}

static void hand_over(struct client *client, struct worker *worker)
{
    struct box *box = client->box;
    struct control_grant *grant = malloc(sizeof(*grant));
    uint64_t session = box->next_session++;
    int account = grant ? accounts_join(box, &client->grant, session) : -ENOMEM;

    if (account == -ENOSPC)
        refuse(client, CONTROL_REFUSAL_BUDGET,
               "the memory of the lease has no room for the context of one more process");
    else if (account < 0 && account != -ENOENT)
        refuse(client, CONTROL_REFUSAL_BUSY, "the lease has too many sessions on this box");
    else {
        // From the grant on the connection is the worker's, or of no use.
        if (fill_grant(client, session, grant) || !give_to_worker(client, worker, grant, account))
            accounts_leave(box, client->grant.lease, session);
        client_free(client);
    }
    if (grant)
        explicit_bzero(grant->secret, sizeof(grant->secret));
    free(grant);
}

// False where the client must wait for a session that is just ending, or has been refused.
static bool has_gpus_for_itself(struct client *client)
{
    const struct worker *other = exclusion_find(client->box, &client->grant);

    if (other && other->state != WORKER_ENDING)
        refuse(client, CONTROL_REFUSAL_BUSY,
               "a GPU of the ticket is in use by another lease (%s), beside which it cannot be used",
               other->session.grant.lease);
    return !other;
}

static bool is_full(const struct box *box, const struct session_grant *grant)
{
    const struct settings *settings = &box->settings;

    if (settings->max_sessions && box->session_count >= (unsigned)settings->max_sessions)
        return true;
    for (uint32_t i = 0; settings->max_sessions_per_gpu && i < grant->device_count; i++)
        if (grant->devices[i]->sessions >= (unsigned)settings->max_sessions_per_gpu)
            return true;
    return false;
}

// Looks once at a waiting client; it may be gone afterwards.
static void serve_queued(struct client *client)
{
    struct box *box = client->box;
    const char *objection;
    char text[400];

    if (!box->devices_known) {
        if (pool_is_broken(&box->probe))
            refuse(client, CONTROL_REFUSAL_WORKER, "its workers do not start: %s",
                   box->probe.last_error);
    } else if (!client->resolved && auth_resolve(box, client->ticket, &client->grant, text,
                                                 sizeof(text))) {
        refuse(client, CONTROL_REFUSAL_NO_DEVICE, "%s", text);
    } else if ((objection = broker_agent_objection(box, &client->grant))) {
        refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "%s", objection);
    } else if (has_gpus_for_itself(client)) {
        client->resolved = true;
        struct device *device = client->grant.devices[0];
        struct worker *worker = worker_find_warm(box, device, client_device_set(client));
        if (worker && !is_full(box, &client->grant))
            hand_over(client, worker);
        else if (!worker && pool_is_broken(&device->pool) && !device->pool.starting)
            refuse(client, CONTROL_REFUSAL_WORKER, "its workers do not start: %s",
                   device->pool.last_error);
    }
}

void client_serve_queue(struct box *box)
{
    struct client *client = client_next_queued(box, NULL), *next;

    for (; client; client = next) {
        next = client_next_queued(box, client);
        serve_queued(client);
    }
    // Who still waits and has not been told is told now, and then regularly.
    for (client = client_next_queued(box, NULL); client; client = next) {
        next = client_next_queued(box, client);
        if (!evtimer_pending(client->timer, NULL))
            tell_queued(client);
    }
    pool_refill(box);
}

void client_refuse_all(struct box *box, enum control_refusal code, const char *text)
{
    struct client *client, *next;

    for (client = TAILQ_FIRST(&box->clients); client; client = next) {
        next = TAILQ_NEXT(client, link);
        if (client->state != CLIENT_REFUSED)
            refuse(client, code, "%s", text);
    }
}

void client_close_all(struct box *box)
{
    while (!TAILQ_EMPTY(&box->clients))
        client_free(TAILQ_FIRST(&box->clients));
}

// ---- crowds ----

// Of those in the handshake, or of those of ORIGIN, the one that came first.
static struct client *oldest_handshake(struct box *box, const uint8_t *origin)
{
    struct client *client;

    TAILQ_FOREACH(client, &box->clients, link)
        if (counts_as_handshake(client->state) &&
            (!origin || !memcmp(origin, client->origin, sizeof(client->origin))))
            return client;
    return NULL;
}

static unsigned count_handshakes(struct box *box, const uint8_t *origin)
{
    struct client *client;
    unsigned count = 0;

    TAILQ_FOREACH(client, &box->clients, link)
        count += counts_as_handshake(client->state) &&
                 !memcmp(origin, client->origin, sizeof(client->origin));
    return count;
}

static void close_for_others(struct client *client)
{
    struct box *box = client->box;
    static int64_t told_ms;
    static unsigned closed;

    closed++;
    if (!told_ms || control_now_ms() - told_ms >= TELL_INTERVAL_MS) {
        log_warn("too many connections in the handshake closed=%u now=%u last_peer=%s", closed,
                 box->handshakes, client->peer);
        told_ms = control_now_ms();
        closed = 0;
    }
    client_free(client);
}

static bool has_spoken(const struct client *client)
{
    uint8_t byte;

    return client->state != CLIENT_REFUSED &&
           recv(client->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

// What the oldest have said and what we have not come to yet is attended to first.
static void give_way(struct box *box, const uint8_t *origin)
{
    struct client *client = oldest_handshake(box, origin);

    for (int i = 0; i < HEARD_FIRST && client && has_spoken(client); i++) {
        client_readable(client->fd, EV_READ, client);
        client = oldest_handshake(box, origin);
    }
    if (client)
        close_for_others(client);
}

// OpenSSH's MaxStartups turns newcomers away, by chance and more and more of them, so that a crowd of
// silent connections lets few others in. Here it is the crowd that gives way: whoever has taken longest.
// A client is through within milliseconds, and would have to be overtaken by a whole crowd meanwhile.
static void thin_out(struct box *box, const uint8_t origin[ENDPOINT_ORIGIN_BYTES])
{
    if (count_handshakes(box, origin) > (unsigned)box->settings.max_handshakes_per_address)
        give_way(box, origin);
    else if (box->handshakes > (unsigned)box->settings.max_handshakes)
        give_way(box, NULL);
}

// ---- arrival ----

static void tune(int fd)
{
    int on = 1;

    // A unix socket has no such options, and needs none.
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

void client_accept(struct box *box, int fd)
{
    uint8_t origin[ENDPOINT_ORIGIN_BYTES];
    struct client *client = calloc(1, sizeof(*client));

    if (!client) {
        close(fd);
        return;
    }
    tune(fd);
    client->box = box;
    client->fd = fd;
    client->state = CLIENT_GONE;
    endpoint_peer_text(fd, client->peer, sizeof(client->peer));
    endpoint_origin(fd, client->origin);
    TAILQ_INSERT_TAIL(&box->clients, client, link);
    client->readable = event_new(box->base, fd, EV_READ | EV_PERSIST, client_readable, client);
    client->timer = evtimer_new(box->base, timer_passed, client);
    if (!client->readable || !client->timer || event_add(client->readable, NULL)) {
        client_free(client);
        return;
    }
    client_move(client, CLIENT_ARRIVED);
    set_timer(client, box->settings.handshake_timeout / 1000);
    // The newcomer itself may go.
    memcpy(origin, client->origin, sizeof(origin));
    thin_out(box, origin);
}
