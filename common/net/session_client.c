// SPDX-License-Identifier: BSD-3-Clause
// Opens a session with a box; every error has its own code and advice.
//
// With a ticket there are two TLS sessions on the connection, one after the other: with the
// supervisor, by the ticket's secret; then with the worker, by a secret of client and supervisor.
#include "common/net/session_client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls_version.h"
#include "common/base/clock.h"
#include "common/security/ticket.h"
#include "common/base/units.h"
#include "version.h"

struct opening {
    const struct session_request *request;
    struct session_error *error;
    char where[ENDPOINT_TEXT_MAX];
    struct control_stream stream;
    int step_ms;
    int64_t start_deadline;
    struct control_frame frame;
    struct control_hello_reply reply;
    bool is_lost; // the box closed the connection without a reason
};

enum { ATTEMPTS_MORE = 2 }; // after lost connections

__attribute__((format(printf, 3, 4))) static int fail_with(struct session_error *error, int result,
                                                           const char *format, ...)
{
    va_list args;

    error->result = result;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return -1;
}

static int timeout_from_environment(const char *name, int given, int standard)
{
    const char *text = secure_getenv(name);
    uint64_t microseconds;

    if (given > 0)
        return given;
    if (!text || units_parse_duration(text, &microseconds) || !microseconds ||
        microseconds / 1000 > 86400000)
        return standard;
    return microseconds < 1000 ? 1 : (int)(microseconds / 1000);
}

static int fail_connect(struct opening *o, int err)
{
    if (err == -EHOSTUNREACH)
        return fail_with(o->error, CONTROL_RESULT_NO_DEVICE,
                         "cannot find box %s: no address for that name, or no route; check "
                         "RGPU_BOXES",
                         o->where);
    if (err == -ECONNREFUSED)
        return fail_with(o->error, CONTROL_RESULT_NO_DEVICE,
                         "box %s refuses connections: is rgpud running there, on that port?",
                         o->where);
    if (err == -ETIMEDOUT)
        return fail_with(o->error, CONTROL_RESULT_NO_DEVICE,
                         "box %s did not answer within %d ms: check the network and firewalls, or "
                         "raise RGPU_CONNECT_TIMEOUT",
                         o->where, o->step_ms);
    return fail_with(o->error, CONTROL_RESULT_NO_DEVICE, "cannot connect to box %s: %s", o->where,
                     strerror(-err));
}

static int fail_exchange(struct opening *o, int err, const char *step)
{
    o->is_lost = session_was_cut(err);
    if (err == -ETIMEDOUT)
        return fail_with(o->error, CONTROL_RESULT_NOT_READY,
                         "box %s went silent during %s: look at rgpud's log there, or raise "
                         "RGPU_CONNECT_TIMEOUT",
                         o->where, step);
    if (err == -EPROTO && o->stream.tls && *tls_problem(o->stream.tls))
        return fail_with(
            o->error, CONTROL_RESULT_NOT_READY,
            "what came from box %s during %s is not what the box sent (%s): somebody on "
            "the way changes it",
            o->where, step, tls_problem(o->stream.tls));
    if (err == -EBADMSG || err == -EPROTO)
        return fail_with(o->error, CONTROL_RESULT_NOT_READY,
                         "what listens at %s does not speak the rgpu protocol (during %s): check "
                         "the port in RGPU_BOXES",
                         o->where, step);
    if (err == -ENOMEM)
        return fail_with(o->error, CONTROL_RESULT_NOT_READY, "out of memory");
    return fail_with(o->error, CONTROL_RESULT_NOT_READY,
                     "box %s closed the connection during %s (%s): look at rgpud's log there",
                     o->where, step, strerror(-err));
}

// The ticket's secret did not open TLS: the peer is not the box that the ticket is for, or does not
// take the ticket, and neither has to say which.
static int fail_proof(struct opening *o, int err)
{
    const char *problem = *tls_problem(o->stream.tls) ? tls_problem(o->stream.tls) : strerror(-err);

    if (err == -ETIMEDOUT)
        return fail_exchange(o, err, "authentication");
    o->is_lost = err == -ECONNRESET;
    if (o->is_lost)
        problem = "it closed the connection";
    return fail_with(
        o->error, CONTROL_RESULT_NOT_PERMITTED,
        "what answers at %s does not prove that it is box %s of the ticket (%s): it is "
        "another box, or an rgpud without tickets (--standalone), or rgpud's log there "
        "says why it does not take the ticket",
        o->where, o->request->box, problem);
}

static int fail_refused(struct opening *o)
{
    struct control_refused refused;

    if (control_decode(&o->frame, CONTROL_REFUSED, &refused))
        return fail_exchange(o, -EBADMSG, "a refusal");
    return fail_with(o->error, refused.result ? refused.result : CONTROL_RESULT_NOT_READY,
                     "box %s: %s", o->where, refused.text);
}

// Receives the next frame; a refusal may come in place of anything.
static int session_client_receive(struct opening *o, int64_t deadline, const char *step)
{
    int err = control_receive(&o->stream, &o->frame, deadline);

    if (err)
        return fail_exchange(o, err, step);
    if (o->frame.header.type == CONTROL_REFUSED)
        return fail_refused(o);
    return 0;
}

static int64_t step_deadline(const struct opening *o)
{
    return clock_ms() + o->step_ms;
}

// Starts TLS with a shared secret on the connection, and discards the earlier TLS session.
static int secure(struct opening *o, const struct tls_secret *secret, bool for_data)
{
    tls_discard(&o->stream.tls);
    int err = tls_client(o->stream.fd, secret, for_data, &o->stream.tls);
    if (err)
        return fail_with(o->error, CONTROL_RESULT_NOT_READY, "TLS cannot be used: %s",
                         strerror(-err));
    err = control_secure(&o->stream, step_deadline(o));
    return err ? fail_proof(o, err) : 0;
}

static int prove_ticket(struct opening *o)
{
    const char *token = o->request->token, *end;
    struct tls_secret secret;

    if (!token)
        return 0;
    if (ticket_secret(token, secret.key))
        return fail_with(o->error, CONTROL_RESULT_NOT_PERMITTED,
                         "the ticket for box %s is damaged: ask for a new one", o->where);
    end = strrchr(token, '.');
    secret.identity = token;
    secret.identity_size = (size_t)(end - token);
    int err = secure(o, &secret, false);
    explicit_bzero(&secret, sizeof(secret));
    return err;
}

// The box proved that it has the ticket's secret; the name distinguishes boxes that share a key
// file by mistake.
static int check_name(struct opening *o)
{
    if (!o->request->token || !strcmp(o->reply.box, o->request->box))
        return 0;
    return fail_with(o->error, CONTROL_RESULT_NOT_PERMITTED,
                     "box %s calls itself %s, the ticket is for %s", o->where, o->reply.box,
                     o->request->box);
}

static int say_hello(struct opening *o)
{
    struct control_hello hello = {
        .magic = CONTROL_MAGIC,
        .version_oldest = CONTROL_VERSION_OLDEST,
        .version_newest = CONTROL_VERSION,
        .protection = o->request->protection,
        .pid = (uint32_t)getpid(),
        .library = RGPU_VERSION,
        .calls = CALLS_VERSION,
    };

    hello.reconnect_ms = o->request->reconnect_ms;
    control_boot_id(hello.boot_id);
    if (gethostname(hello.host, sizeof(hello.host) - 1))
        hello.host[0] = '\0';
    snprintf(hello.program, sizeof(hello.program), "%s", program_invocation_short_name);
    snprintf(hello.windows, sizeof(hello.windows), "%s",
             o->request->windows ? o->request->windows : "");
    for (char *p = hello.program; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    int err = control_send(&o->stream, CONTROL_HELLO, &hello, step_deadline(o));
    if (err)
        return fail_exchange(o, err, "the greeting");
    if (session_client_receive(o, step_deadline(o), "the greeting"))
        return -1;
    err = control_decode(&o->frame, CONTROL_HELLO_REPLY, &o->reply);
    if (err || o->reply.magic != CONTROL_MAGIC)
        return fail_exchange(o, -EBADMSG, "the greeting");
    if (o->reply.version < CONTROL_VERSION_OLDEST || o->reply.version > CONTROL_VERSION)
        return fail_with(o->error, CONTROL_RESULT_MISMATCH,
                         "box %s chose protocol version %u, this library of rgpu %s speaks %u to "
                         "%u: install neighbouring releases on both",
                         o->where, o->reply.version, RGPU_VERSION, CONTROL_VERSION_OLDEST,
                         CONTROL_VERSION);
    return check_name(o);
}

static int fail_start_timeout(struct opening *o)
{
    return fail_with(o->error, CONTROL_RESULT_NOT_READY,
                     "box %s had no worker ready within its time: it is overloaded or its workers "
                     "do not start; see rgpud's log, or raise RGPU_START_TIMEOUT",
                     o->where);
}

// While no worker is ready the box says so at short intervals; only its silence is a time-out.
static int session_client_await_grant(struct opening *o, struct session_welcome *out)
{
    int timeout_ms = o->step_ms;

    for (;;) {
        struct control_queued queued;
        struct control_granted granted;
        if (session_client_receive(o, clock_ms() + timeout_ms, "authentication"))
            return -1;
        if (!control_decode(&o->frame, CONTROL_GRANTED, &granted)) {
            out->session = granted.session;
            out->protection = granted.protection;
            return 0;
        }
        int err = control_decode(&o->frame, CONTROL_QUEUED, &queued);
        if (err)
            return fail_exchange(o, err, "authentication");
        if (clock_ms() > o->start_deadline)
            return fail_start_timeout(o);
        timeout_ms = o->step_ms + (queued.interval_ms < 60000 ? (int)queued.interval_ms : 60000);
    }
}

// A session without TLS is one without a ticket, which the program may have meant to have.
static int session_client_check_protection(struct opening *o, const struct session_welcome *out)
{
    enum control_protection least = o->request->protection;

    if (o->stream.tls && least < CONTROL_PROTECTION_AUTHENTICATE)
        least = CONTROL_PROTECTION_AUTHENTICATE;
    if (out->protection >= least && (o->stream.tls || !out->protection))
        return 0;
    return fail_with(o->error, CONTROL_RESULT_NOT_PERMITTED,
                     "RGPU_PROTECTION=%s, but box %s gives protection=%s%s",
                     control_protection_name(least), o->where,
                     control_protection_name(out->protection),
                     o->stream.tls ? ""
                                   : ", since there is no ticket: take a lease with rgpuctl run");
}

// The supervisor, whose part ends here, has given the worker a secret from this session alone.
static int meet_worker(struct opening *o, const struct session_welcome *out)
{
    struct tls_secret secret = {.identity = "worker", .identity_size = 6};

    if (!o->stream.tls)
        return 0;
    if (tls_export(o->stream.tls, secret.key))
        return fail_with(o->error, CONTROL_RESULT_NOT_READY, "TLS gives no secret for the worker");
    int err = secure(o, &secret, out->protection == CONTROL_PROTECTION_PRIVACY);
    explicit_bzero(&secret, sizeof(secret));
    return err;
}

static int await_welcome(struct opening *o, struct session_welcome *out)
{
    if (session_client_receive(o, step_deadline(o), "the worker's welcome"))
        return -1;
    int err = control_decode(&o->frame, CONTROL_WELCOME, &out->offer);
    if (err)
        return fail_exchange(o, err, "the worker's welcome");
    if (out->offer.session != out->session || out->offer.version != o->reply.version)
        return fail_exchange(o, -EPROTO, "the worker's welcome");
    return 0;
}

static int converse(struct opening *o, struct session_welcome *out)
{
    if (prove_ticket(o) || say_hello(o) || session_client_await_grant(o, out) ||
        session_client_check_protection(o, out) || meet_worker(o, out) || await_welcome(o, out))
        return -1;
    out->version = o->reply.version;
    memcpy(out->boot_id, out->offer.boot_id, sizeof(out->boot_id));
    snprintf(out->box, sizeof(out->box), "%s", o->reply.box);
    snprintf(out->release, sizeof(out->release), "%s", o->reply.release);
    out->frame = o->frame; // the offer's views point into it
    return 0;
}

// A connection that breaks before the session is there may have lost its rgpud, whose successor
// takes further connections from the same listening socket. Only the first attempt's problem with
// the connection itself is reported.
static int try_open(struct opening *o, struct session_welcome *out, bool is_first)
{
    o->is_lost = false;
    o->stream = (struct control_stream){.fd = endpoint_connect(&o->request->endpoint, o->step_ms)};
    if (o->stream.fd < 0)
        return is_first ? fail_connect(o, o->stream.fd) : -1;
    if (!converse(o, out))
        return 0;
    session_stream_close(&o->stream);
    control_frame_free(&o->frame);
    return -1;
}

int session_open(const struct session_request *request, struct session_welcome *out,
                 struct control_stream *stream, struct session_error *error)
{
    struct opening o = {.request = request, .error = error};

    memset(out, 0, sizeof(*out));
    endpoint_format(&request->endpoint, o.where);
    o.step_ms = timeout_from_environment("RGPU_CONNECT_TIMEOUT", request->connect_timeout_ms,
                                         SESSION_CONNECT_TIMEOUT_MS);
    o.start_deadline = clock_ms() + timeout_from_environment("RGPU_START_TIMEOUT",
                                                             request->start_timeout_ms,
                                                             SESSION_START_TIMEOUT_MS);
    int err = try_open(&o, out, true);
    for (int i = 0; err && o.is_lost && i < ATTEMPTS_MORE; i++)
        err = try_open(&o, out, false);
    if (!err)
        *stream = o.stream;
    return err;
}

// ---- asking without a session ----

int session_ask_open(const struct session_request *request, struct control_stream *stream,
                     struct session_error *error)
{
    struct opening o = {.request = request, .error = error};

    endpoint_format(&request->endpoint, o.where);
    o.step_ms = timeout_from_environment("RGPU_CONNECT_TIMEOUT", request->connect_timeout_ms,
                                         SESSION_CONNECT_TIMEOUT_MS);
    o.stream.fd = endpoint_connect(&request->endpoint, o.step_ms);
    if (o.stream.fd < 0)
        return fail_connect(&o, o.stream.fd);
    if (prove_ticket(&o)) {
        session_stream_close(&o.stream);
        return -1;
    }
    *stream = o.stream;
    return 0;
}

// Sends a question, and receives the answer into FRAME within WAIT_MS; 0: the usual time.
static int session_client_ask(struct opening *o, enum control_message_type question,
                              const void *message, int wait_ms, struct control_frame *frame,
                              const char *what)
{
    o->frame = *frame;
    endpoint_format(&o->request->endpoint, o->where);
    o->step_ms = timeout_from_environment("RGPU_CONNECT_TIMEOUT", o->request->connect_timeout_ms,
                                          SESSION_CONNECT_TIMEOUT_MS);
    int err = control_send(&o->stream, question, message, step_deadline(o));
    err = err ? fail_exchange(o, err, what)
              : session_client_receive(o, wait_ms ? clock_ms() + wait_ms : step_deadline(o), what);
    *frame = o->frame;
    return err;
}

// Checks the fields that both answers have, once they are decoded.
static int session_client_check_answer(struct opening *o, int err, uint32_t magic, const char *box,
                                       const char *what)
{
    if (err || magic != CONTROL_MAGIC)
        return fail_exchange(o, err ? err : -EBADMSG, what);
    snprintf(o->reply.box, sizeof(o->reply.box), "%s", box);
    return check_name(o);
}

int session_query_figures(const struct session_request *request,
                          const struct control_stream *stream, unsigned gpu,
                          struct control_frame *frame, struct control_figures *out,
                          struct session_error *error)
{
    static const char what[] = "a look at its GPUs";
    struct control_figures_query query = {.magic = CONTROL_MAGIC, .gpu = gpu};
    struct opening o = {.request = request, .error = error, .stream = *stream};

    control_boot_id(query.boot_id);
    if (session_client_ask(&o, CONTROL_FIGURES_QUERY, &query, 0, frame, what))
        return -1;
    int err = control_decode(frame, CONTROL_FIGURES, out);
    return session_client_check_answer(&o, err, out->magic, out->box, what);
}

int session_rendezvous(const struct session_request *request, const struct control_stream *stream,
                       const struct control_rendezvous *meet, int wait_ms,
                       struct control_rendezvous_reply *out, struct session_error *error)
{
    static const char what[] = "a rendezvous of processes";
    struct opening o = {.request = request, .error = error, .stream = *stream};
    struct control_frame frame = {0};
    int err = session_client_ask(&o, CONTROL_RENDEZVOUS, meet, wait_ms, &frame, what);

    if (!err) {
        err = control_decode(&frame, CONTROL_RENDEZVOUS_REPLY, out);
        err = session_client_check_answer(&o, err, out->magic, out->box, what);
    }
    control_frame_free(&frame);
    return err;
}

void session_stream_close(struct control_stream *stream)
{
    tls_discard(&stream->tls);
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

void session_welcome_free(struct session_welcome *welcome)
{
    control_frame_free(&welcome->frame);
    welcome->offer.snapshot = NULL;
    welcome->offer.snapshot_size = 0;
}

static int64_t reply_deadline(void)
{
    return clock_ms() +
           timeout_from_environment("RGPU_CONNECT_TIMEOUT", 0, SESSION_CONNECT_TIMEOUT_MS);
}

int session_propose_transport(const struct control_stream *stream, const char *transport,
                              const char *reason, struct session_error *error)
{
    struct control_transport_reply reply = {0};
    struct control_transport_proposal proposal = {0};
    int64_t deadline = reply_deadline();

    snprintf(proposal.transport, sizeof(proposal.transport), "%s", transport);
    snprintf(proposal.reason, sizeof(proposal.reason), "%s", reason);
    int err = control_send(stream, CONTROL_TRANSPORT_PROPOSAL, &proposal, deadline);
    if (!err)
        err = control_expect(stream, CONTROL_TRANSPORT_REPLY, &reply, deadline);
    error->lost = session_was_cut(err);
    if (err)
        return fail_with(error, CONTROL_RESULT_NOT_READY,
                         "the box's worker did not answer the choice of transport (%s): look at "
                         "rgpud's log there",
                         strerror(-err));
    if (!reply.accepted)
        return fail_with(error, 0, "%s", reply.text);
    return 0;
}

int session_stream_release(struct control_stream *stream, enum control_protection protection,
                           struct tls **tls)
{
    *tls = stream->tls;
    stream->tls = NULL;
    if (!*tls || protection == CONTROL_PROTECTION_PRIVACY)
        return 0;
    struct control_stream ending = {.fd = stream->fd, .tls = *tls};
    *tls = NULL;
    return control_end_tls(&ending, reply_deadline());
}
