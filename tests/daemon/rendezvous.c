// SPDX-License-Identifier: BSD-3-Clause
// Many processes of a lease query a box for one name, until one of them publishes the value.
//
// usage: rendezvous HOST:PORT TICKET TICKET-OF-ANOTHER-LEASE
#include <poll.h>
#include <string.h>

#include "common/net/session_client.h"
#include "common/security/ticket.h"
#include "tests/tap.h"

enum { MOST = 512, TIMEOUT_MS = 60000, ASKERS = MOST - 2 };

static struct endpoint box;
static struct ticket_bundle own, other;
static struct control_stream streams[MOST + 1];

static struct session_request request_of(const struct ticket_bundle *bundle)
{
    return (struct session_request){.endpoint = box,
                                    .box = bundle->entries[0].box,
                                    .token = bundle->entries[0].token};
}

static struct control_rendezvous meet_of(int name, int says)
{
    struct control_rendezvous meet = {.magic = CONTROL_MAGIC, .says = (uint8_t)says};
    memset(meet.name, name, sizeof(meet.name));
    memset(meet.id, 40 + name, sizeof(meet.id));
    return meet;
}

static void open_stream(const struct ticket_bundle *bundle, struct control_stream *stream)
{
    struct session_request request = request_of(bundle);
    struct session_error error = {0};
    if (session_ask_open(&request, stream, &error))
        bail("%s", error.text);
}

// Sends a query or a value, without receiving the answer.
static void begin(const struct ticket_bundle *bundle, int name, int says,
                  struct control_stream *stream)
{
    struct control_rendezvous meet = meet_of(name, says);
    open_stream(bundle, stream);
    if (control_send(stream, CONTROL_RENDEZVOUS, &meet, clock_ms() + TIMEOUT_MS))
        bail("the box does not listen");
}

static int state_of(struct control_stream *stream, struct control_rendezvous_reply *rendezvous)
{
    *rendezvous = (struct control_rendezvous_reply){0};
    int err = control_expect(stream, CONTROL_RENDEZVOUS_REPLY, rendezvous, clock_ms() + TIMEOUT_MS);
    return err ? err : (int)rendezvous->state;
}

static bool is_silent(const struct control_stream *stream)
{
    struct pollfd poller = {.fd = stream->fd, .events = POLLIN};
    return poll(&poller, 1, 0) == 0;
}

// Connects with the ticket of the lease, or of the other lease. Returns the result, with its
// message in TEXT.
static int say(const struct ticket_bundle *bundle, int name, int says,
               struct control_stream *stream, struct control_rendezvous_reply *rendezvous,
               struct session_error *error)
{
    struct session_request request = request_of(bundle);
    struct control_rendezvous meet = meet_of(name, says);
    open_stream(bundle, stream);
    return session_rendezvous(&request, stream, &meet, TIMEOUT_MS, rendezvous, error);
}

static void all_hear(void)
{
    struct control_rendezvous_reply rendezvous;
    struct session_error error = {0};
    struct control_stream *saying = &streams[MOST], *stranger = &streams[ASKERS];
    int right = 0;
    for (int i = 0; i < ASKERS; i++)
        begin(&own, 1, 0, &streams[i]);
    begin(&other, 1, 0, stranger);
    begin(&own, 2, 0, &streams[ASKERS + 1]);
    is_int(say(&own, 1, 1, saying, &rendezvous, &error), 0, "one says it");
    is_int(rendezvous.state, CONTROL_RENDEZVOUS_REPLY_STATE_SAID, "which the box takes");
    for (int i = 0; i < ASKERS; i++) {
        int state = state_of(&streams[i], &rendezvous);
        right += state == CONTROL_RENDEZVOUS_REPLY_STATE_SAID && rendezvous.id[0] == 41 &&
                 rendezvous.id[sizeof(rendezvous.id) - 1] == 41;
        session_stream_close(&streams[i]);
    }
    is_int(right, ASKERS, "all who have asked hear it");
    ok(is_silent(stranger), "no process of another lease does");
    ok(is_silent(&streams[ASKERS + 1]), "nor one that asked for another name");
    is_int(say(&own, 1, 1, &streams[0], &rendezvous, &error), 0, "another one would say something");
    is_int(rendezvous.state, CONTROL_RENDEZVOUS_REPLY_STATE_TAKEN, "but the name is taken");
    session_stream_close(&streams[0]);
    is_int(say(&other, 1, 1, &streams[0], &rendezvous, &error), 0,
           "the other lease has names of its own");
    is_int(rendezvous.state, CONTROL_RENDEZVOUS_REPLY_STATE_SAID, "which are free");
    is_int(state_of(stranger, &rendezvous), CONTROL_RENDEZVOUS_REPLY_STATE_SAID,
           "its process hears that");
    session_stream_close(&streams[0]);
    session_stream_close(stranger);
    is_int(state_of(&streams[ASKERS + 1], &rendezvous), CONTROL_RENDEZVOUS_REPLY_STATE_NOBODY,
           "who asks in vain is told so");
    session_stream_close(&streams[ASKERS + 1]);
    session_stream_close(saying);
}

static void too_many(void)
{
    struct control_rendezvous_reply rendezvous;
    struct session_error error = {0};
    for (int i = 0; i < MOST; i++)
        begin(&own, 3, 0, &streams[i]);
    is_int(say(&own, 3, 0, &streams[MOST], &rendezvous, &error), -1, "one too many is refused");
    ok(strstr(error.text, "512 processes of lease"), "with the reason (%s)", error.text);
    session_stream_close(&streams[MOST]);
    is_int(say(&other, 3, 1, &streams[MOST], &rendezvous, &error), 0, "another lease is served");
    for (int i = 0; i <= MOST; i++)
        session_stream_close(&streams[i]);
}

static void malformed(void)
{
    struct control_rendezvous meet = meet_of(4, 2);
    struct session_request request = request_of(&own);
    struct control_rendezvous_reply rendezvous;
    struct session_error error = {0};
    open_stream(&own, &streams[0]);
    is_int(session_rendezvous(&request, &streams[0], &meet, TIMEOUT_MS, &rendezvous, &error), -1,
           "who neither says nor asks is refused");
    ok(strstr(error.text, "malformed MEET"), "for that reason (%s)", error.text);
    session_stream_close(&streams[0]);
}

int main(int argc, char **argv)
{
    if (argc != 4 || endpoint_parse(argv[1], 0, &box) ||
        ticket_bundle_parse(argv[2], strlen(argv[2]), &own) ||
        ticket_bundle_parse(argv[3], strlen(argv[3]), &other))
        bail("usage: rendezvous HOST:PORT TICKET TICKET-OF-ANOTHER-LEASE");
    all_hear();
    too_many();
    malformed();
    ticket_bundle_free(&own);
    ticket_bundle_free(&other);
    return done();
}
