// SPDX-License-Identifier: BSD-3-Clause
// A message is handled only when it is complete and valid. Nothing beyond it is read, because the
// socket is passed on afterwards.
#include "daemon/rgpud/clients/login.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "calls_version.h"
#include "common/net/expected_connection.h"
#include "common/base/log.h"
#include "daemon/rgpud/broker/broker_agent.h"
#include "daemon/rgpud/clients/admission.h"
#include "daemon/rgpud/workers/box_calls.h"
#include "daemon/rgpud/clients/figures_query.h"
#include "daemon/rgpud/clients/rendezvous.h"
#include "daemon/rgpud/clients/waiting_clients.h"
#include "daemon/rgpud/workers/worker_process.h"
#include "version.h"

// Returns true if the ticket belongs to another user. On a unix socket the kernel reports the user
// that connects, so a stolen ticket is useless.
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

// Returns true if the client sends anything between HELLO and the grant, when only the box may
// send.
static bool speaks_out_of_turn(const struct client *client)
{
    uint8_t byte;

    return recv(client->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0 ||
           (client->tls && tls_pending(client->tls));
}

// Counts sessions of the client's lease, including clients that wait for a worker.
static unsigned sessions_of_lease(const struct client *client)
{
    const struct worker_process *worker;
    struct client *other = NULL;
    unsigned count = 0;

    TAILQ_FOREACH(worker, &client->box->workers, link)
        count += worker->session.id && !strcmp(worker->session.grant.lease, client->ticket->lease);
    while ((other = waiting_next(client->box, other)))
        count += other->ticket && !strcmp(other->ticket->lease, client->ticket->lease);
    return count;
}

static bool lease_is_full(const struct client *client)
{
    unsigned most = (unsigned)client->box->settings.max_sessions_per_lease;

    return most && client->ticket && sessions_of_lease(client) >= most;
}

static bool note_ticket(const struct client *client)
{
    if (client->ticket)
        broker_agent_note(client->box, client->ticket, client->ticket_text);
    return true;
}

// Returns false after refusing the client.
static bool may_come_in(struct client *client)
{
    struct box *box = client->box;
    int problem = client->ticket ? admission_check_use(box, client->ticket) : 0;

    if (speaks_out_of_turn(client))
        client_refuse(client, CONTROL_REFUSAL_PROTOCOL,
                      "a message out of order, right after the first");
    else if (problem)
        client_refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "the ticket is not accepted: %s",
                      ticket_error(problem));
    else if (!client->tls && box->settings.auth == AUTH_TICKET)
        client_refuse(
            client, CONTROL_REFUSAL_AUTHENTICATION,
            "this box asks for a ticket: take a lease (rgpuctl run without --box), or set RGPU_TICKET_FILE");
    else if (is_stolen(client))
        client_refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "the ticket is another user's");
    else
        return note_ticket(client);
    return false;
}

static void login_admit(struct client *client)
{
    struct box *box = client->box;
    enum limit_level level;

    if (!may_come_in(client))
        return;
    if (!client->tls && client->hello.protection > CONTROL_PROTECTION_NONE)
        client_refuse(client, CONTROL_REFUSAL_AUTHENTICATION,
                      "RGPU_PROTECTION=%s needs a ticket, and this box (--standalone) knows none",
                      control_protection_name(client->hello.protection));
    else if (lease_is_full(client))
        client_refuse(
            client, CONTROL_REFUSAL_BUSY,
            "lease %.100s has as many sessions on this box as max_sessions_per_lease allows (%lld)",
            client->ticket->lease, (long long)box->settings.max_sessions_per_lease);
    else if (!box_accepts_sessions(box))
        client_refuse(client, CONTROL_REFUSAL_DRAINING,
                      "the box takes no new sessions (it is being drained); use another one");
    else if ((level = client_count(client, LIMITED_WAITING)))
        client_refuse(client, CONTROL_REFUSAL_BUSY,
                      "%llu clients of the %s already wait for this box (max_queued)",
                      (unsigned long long)limits_most(box->limits, LIMITED_WAITING, level),
                      limits_level_name(level));
    else
        waiting_join(client);
}

// Returns the version of the client's list of calls. Clients of the first release do not send it.
static uint16_t calls_of(const struct control_hello *hello)
{
    enum { CALLS_OF_FIRST = 12 };

    return hello->calls ? hello->calls : CALLS_OF_FIRST;
}

// Refuses a version. The client and the log both show the text, so it names both ends.
static void refuse_version(struct client *client, const char *what, unsigned theirs, unsigned ours)
{
    const struct control_hello *hello = &client->hello;
    bool is_older = theirs < ours;

    client_refuse(
        client, CONTROL_REFUSAL_VERSION,
        "the client library on %.64s is of rgpu %s and speaks %s version %u, box %.64s is of rgpu %s and "
        "speaks version %u: upgrade %s%.64s",
        hello->host, hello->library, what, theirs, client->box->name, RGPU_VERSION, ours,
        is_older ? "rgpu-client on " : "rgpu-box on ", is_older ? hello->host : client->box->name);
}

static bool check_versions(struct client *client)
{
    const struct control_hello *hello = &client->hello;

    client->version = hello->version_newest < CONTROL_VERSION ? hello->version_newest
                                                              : CONTROL_VERSION;
    if (client->version < CONTROL_VERSION_OLDEST)
        refuse_version(client, "protocol", hello->version_newest, CONTROL_VERSION_OLDEST);
    else if (client->version < hello->version_oldest)
        refuse_version(client, "protocol", hello->version_oldest, CONTROL_VERSION);
    else if (calls_of(hello) != CALLS_VERSION)
        refuse_version(client, "calls", calls_of(hello), CALLS_VERSION);
    else
        return true;
    return false;
}

static void take_hello(struct client *client)
{
    struct box *box = client->box;
    struct control_hello *hello = &client->hello;
    struct control_hello_reply answer = {.magic = CONTROL_MAGIC};

    if (control_decode(&client->frame, CONTROL_HELLO, hello) || hello->magic != CONTROL_MAGIC ||
        hello->version_oldest > hello->version_newest) {
        client_refuse(client, CONTROL_REFUSAL_PROTOCOL, "malformed HELLO");
        return;
    }
    if (!check_versions(client))
        return;
    answer.version = client->version;
    memcpy(answer.boot_id, box->boot_id, sizeof(answer.boot_id));
    snprintf(answer.box, sizeof(answer.box), "%s", box->name);
    snprintf(answer.release, sizeof(answer.release), "%s", RGPU_VERSION);
    if (client_reply(client, CONTROL_HELLO_REPLY, &answer))
        client_free(client);
    else
        login_admit(client);
}

// ---- reading ----

static ssize_t login_receive_part(struct client *client, uint8_t *data, size_t size)
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

// Returns true if a message of this type may come now. LOOK may be repeated; other types only come
// first.
static bool is_in_turn(const struct client *client, unsigned type)
{
    return type == CONTROL_FIGURES_QUERY ||
           (!client->queries && (type == CONTROL_HELLO || type == CONTROL_RENDEZVOUS));
}

static int take_header(struct client *client)
{
    struct control_frame *frame = &client->frame;

    if (control_parse_header(client->head, &frame->header))
        return -EBADMSG;
    if (client->called_session && frame->header.type != CONTROL_PEER_HELLO)
        return -EPROTO;
    if (!client->called_session && !is_in_turn(client, frame->header.type))
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

// Returns 0 after a complete frame, -EAGAIN if data is missing, or another -errno at the end of the
// connection.
static int receive_frame(struct client *client)
{
    while (client->received < CONTROL_HEADER_BYTES) {
        ssize_t n = login_receive_part(client, client->head + client->received,
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
        ssize_t n = login_receive_part(client, client->frame.body + have, whole - client->received);
        if (n < 0)
            return (int)n;
    }
    client->received = 0;
    return 0;
}

void login_hear(struct client *client)
{
    int err = receive_frame(client);

    if (err == -EAGAIN)
        return;
    if (err == -EBADMSG || err == -EPROTO) {
        client_refuse(
            client, CONTROL_REFUSAL_PROTOCOL,
            "this is not the rgpu protocol, or a message out of order (HELLO, LOOK or MEET expected)");
    } else if (err) {
        log_debug("client left peer=%s state=%s error=\"%s\"", client->peer,
                  client_state_name(client), strerror(-err));
        client_free(client);
    } else if (client->called_session) {
        box_calls_take(client);
    } else if (client->frame.header.type == CONTROL_HELLO) {
        take_hello(client);
    } else if (!may_come_in(client)) {
        return;
    } else if (client->frame.header.type == CONTROL_FIGURES_QUERY) {
        figures_query_answer(client);
    } else {
        rendezvous_take(client);
    }
}

// ---- TLS ----

static int login_find_secret(void *argument, const void *identity, size_t size,
                             uint8_t key[TLS_SECRET_BYTES])
{
    struct client *client = argument;

    if (expected_connection_is_name(identity, size))
        return client->ticket_problem = box_calls_find(client, identity, key);
    if (client->box->settings.auth != AUTH_TICKET)
        return client->ticket_problem = -ENOENT;
    free(client->ticket);
    free(client->ticket_text);
    client->ticket = calloc(1, sizeof(*client->ticket));
    client->ticket_text = strndup(identity, size);
    client->ticket_problem =
        client->ticket && client->ticket_text
            ? admission_recompute(client->box, identity, size, key, client->ticket)
            : -ENOMEM;
    return client->ticket_problem;
}

void login_prove(struct client *client)
{
    int err = tls_handshake(client->tls);

    if (err == -EAGAIN)
        return;
    if (!err)
        client_move(client, CLIENT_GREETING);
    else if (client->ticket_problem)
        client_refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "the ticket is not accepted: %s",
                      ticket_error(client->ticket_problem));
    else if (err == -EPROTO)
        client_refuse(client, CONTROL_REFUSAL_AUTHENTICATION,
                      "the client does not prove that it has the ticket%s%.200s: %s",
                      client->ticket ? " of lease " : "",
                      client->ticket ? client->ticket->lease : "", tls_problem(client->tls));
    else
        client_free(client);
}

// Returns true if the data begins a TLS record (0x16 0x03). If only the first byte is there, TLS
// checks the rest.
static bool begins_tls(int fd, ssize_t *seen)
{
    uint8_t first[2];

    *seen = recv(fd, first, sizeof(first), MSG_DONTWAIT | MSG_PEEK);
    return *seen > 0 && first[0] == 0x16 && (*seen == 1 || first[1] == 0x03);
}

void login_begin(struct client *client)
{
    ssize_t seen;
    bool tls = begins_tls(client->fd, &seen);

    if (seen < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (seen <= 0) {
        client_free(client);
    } else if (!tls ||
               (client->box->settings.auth != AUTH_TICKET && !box_calls_expected(client->box))) {
        client_move(client, CLIENT_GREETING);
        login_hear(client);
    } else if (tls_server(client->fd, login_find_secret, client, false, &client->tls)) {
        client_free(client);
    } else {
        client_move(client, CLIENT_PROVING);
        login_prove(client);
    }
}
