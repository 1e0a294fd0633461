// Opens a session with a box, giving each way it can go wrong its own code and advice.
#include "common/session_client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ticket.h"
#include "common/units.h"

struct opening {
    const struct session_request *request;
    struct session_error *error;
    char where[ENDPOINT_TEXT_MAX];
    int fd;
    int step_ms;
    int64_t start_deadline;
    struct control_frame frame;
    struct control_hello_reply reply;
};

__attribute__((format(printf, 3, 4)))
static int fail_with(struct session_error *error, int result, const char *format, ...)
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
    const char *text = getenv(name);
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
                         "RGPU_BOXES", o->where);
    if (err == -ECONNREFUSED)
        return fail_with(o->error, CONTROL_RESULT_NO_DEVICE,
                         "box %s refuses connections: is rgpud running there, on that port?",
                         o->where);
    if (err == -ETIMEDOUT)
        return fail_with(o->error, CONTROL_RESULT_NO_DEVICE,
                         "box %s did not answer within %d ms: check the network and firewalls, or "
                         "raise RGPU_CONNECT_TIMEOUT", o->where, o->step_ms);
    return fail_with(o->error, CONTROL_RESULT_NO_DEVICE, "cannot connect to box %s: %s", o->where,
                     strerror(-err));
}

static int fail_exchange(struct opening *o, int err, const char *step)
{
    if (err == -ETIMEDOUT)
        return fail_with(o->error, CONTROL_RESULT_NOT_READY,
                         "box %s went silent during %s: look at rgpud's log there, or raise "
                         "RGPU_CONNECT_TIMEOUT", o->where, step);
    if (err == -EBADMSG || err == -EPROTO)
        return fail_with(o->error, CONTROL_RESULT_NOT_READY,
                         "what listens at %s does not speak the rgpu protocol (during %s): check "
                         "the port in RGPU_BOXES", o->where, step);
    if (err == -ENOMEM)
        return fail_with(o->error, CONTROL_RESULT_NOT_READY, "out of memory");
    return fail_with(o->error, CONTROL_RESULT_NOT_READY,
                     "box %s closed the connection during %s (%s): look at rgpud's log there",
                     o->where, step, strerror(-err));
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
static int receive(struct opening *o, int64_t deadline, const char *step)
{
    int err = control_receive(o->fd, &o->frame, deadline);

    if (err)
        return fail_exchange(o, err, step);
    if (o->frame.header.type == CONTROL_REFUSED)
        return fail_refused(o);
    return 0;
}

static int64_t step_deadline(const struct opening *o)
{
    return control_now_ms() + o->step_ms;
}

static int say_hello(struct opening *o)
{
    struct control_hello hello = {
        .magic = CONTROL_MAGIC,
        .version_oldest = CONTROL_VERSION_OLDEST,
        .version_newest = CONTROL_VERSION,
        .transport = o->request->transport,
        .pid = (uint32_t)getpid(),
        .library = RGPU_VERSION,
    };

    control_boot_id(hello.boot_id);
    if (gethostname(hello.host, sizeof(hello.host) - 1))
        hello.host[0] = '\0';
    snprintf(hello.program, sizeof(hello.program), "%s", program_invocation_short_name);
    for (char *p = hello.program; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    int err = control_send(o->fd, CONTROL_HELLO, &hello, step_deadline(o));
    if (err)
        return fail_exchange(o, err, "the greeting");
    if (receive(o, step_deadline(o), "the greeting"))
        return -1;
    err = control_decode(&o->frame, CONTROL_HELLO_REPLY, &o->reply);
    if (err || o->reply.magic != CONTROL_MAGIC)
        return fail_exchange(o, -EBADMSG, "the greeting");
    if (o->reply.version < CONTROL_VERSION_OLDEST || o->reply.version > CONTROL_VERSION)
        return fail_with(o->error, CONTROL_RESULT_MISMATCH,
                         "box %s chose protocol version %u, this library speaks %u to %u: install "
                         "the same release on both", o->where, o->reply.version,
                         CONTROL_VERSION_OLDEST, CONTROL_VERSION);
    return 0;
}

static int fill_proof(struct opening *o, struct control_auth *auth)
{
    const char *token = o->request->token;

    if (!token)
        return fail_with(o->error, CONTROL_RESULT_NOT_PERMITTED,
                         "box %s asks for a ticket: set RGPU_TICKET_FILE, or take a lease with "
                         "rgpuctl run", o->where);
    const char *end = strrchr(token, '.');
    size_t size = end ? (size_t)(end - token) : sizeof(auth->ticket);
    if (size >= sizeof(auth->ticket) || ticket_nonce(auth->nonce) ||
        ticket_prove(token, o->reply.nonce, auth->nonce, auth->proof))
        return fail_with(o->error, CONTROL_RESULT_NOT_PERMITTED,
                         "the ticket for box %s is damaged: ask for a new one", o->where);
    memcpy(auth->ticket, token, size);
    auth->ticket[size] = '\0';
    return 0;
}

static int authenticate(struct opening *o)
{
    struct control_auth auth = {.method = o->reply.auth};

    switch (o->reply.auth) {
    case CONTROL_AUTH_METHOD_NONE:
        break;
    case CONTROL_AUTH_METHOD_TICKET:
        if (fill_proof(o, &auth))
            return -1;
        break;
    }
    int err = control_send(o->fd, CONTROL_AUTH, &auth, step_deadline(o));
    return err ? fail_exchange(o, err, "authentication") : 0;
}

static int fail_start_timeout(struct opening *o)
{
    return fail_with(o->error, CONTROL_RESULT_NOT_READY,
                     "box %s had no worker ready within its time: it is overloaded or its workers "
                     "do not start; see rgpud's log, or raise RGPU_START_TIMEOUT", o->where);
}

// While no worker is ready the box says so at short intervals; only its silence is a time-out.
static int await_grant(struct opening *o, struct session_welcome *out)
{
    int patience_ms = o->step_ms;

    for (;;) {
        struct control_queued queued;
        struct control_granted granted;
        if (receive(o, control_now_ms() + patience_ms, "authentication"))
            return -1;
        if (!control_decode(&o->frame, CONTROL_GRANTED, &granted)) {
            out->session = granted.session;
            return 0;
        }
        int err = control_decode(&o->frame, CONTROL_QUEUED, &queued);
        if (err)
            return fail_exchange(o, err, "authentication");
        if (control_now_ms() > o->start_deadline)
            return fail_start_timeout(o);
        patience_ms = o->step_ms + (queued.interval_ms < 60000 ? (int)queued.interval_ms : 60000);
    }
}

static int await_welcome(struct opening *o, struct session_welcome *out)
{
    if (receive(o, step_deadline(o), "the worker's welcome"))
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
    if (say_hello(o) || authenticate(o) || await_grant(o, out) || await_welcome(o, out))
        return -1;
    out->version = o->reply.version;
    memcpy(out->boot_id, out->offer.boot_id, sizeof(out->boot_id));
    snprintf(out->box, sizeof(out->box), "%s", o->reply.box);
    out->frame = o->frame; // the offer's views point into it
    return 0;
}

int session_open(const struct session_request *request, struct session_welcome *out, int *fd,
                 struct session_error *error)
{
    struct opening o = {.request = request, .error = error};

    memset(out, 0, sizeof(*out));
    endpoint_format(&request->endpoint, o.where);
    o.step_ms = timeout_from_environment("RGPU_CONNECT_TIMEOUT", request->connect_timeout_ms,
                                         SESSION_CONNECT_TIMEOUT_MS);
    o.start_deadline = control_now_ms() +
                       timeout_from_environment("RGPU_START_TIMEOUT", request->start_timeout_ms,
                                                SESSION_START_TIMEOUT_MS);
    o.fd = endpoint_connect(&request->endpoint, o.step_ms);
    if (o.fd < 0)
        return fail_connect(&o, o.fd);
    if (converse(&o, out)) {
        close(o.fd);
        control_frame_free(&o.frame);
        return -1;
    }
    *fd = o.fd;
    return 0;
}

void session_welcome_free(struct session_welcome *welcome)
{
    control_frame_free(&welcome->frame);
    welcome->offer.snapshot = NULL;
    welcome->offer.snapshot_size = 0;
}

int session_propose_transport(int fd, enum control_transport transport, const char *reason,
                              struct session_error *error)
{
    struct control_transport_reply reply = {0};
    struct control_transport_proposal proposal = {.transport = transport};
    struct control_frame frame = {0};
    int64_t deadline = control_now_ms() + timeout_from_environment("RGPU_CONNECT_TIMEOUT", 0,
                                                                   SESSION_CONNECT_TIMEOUT_MS);

    snprintf(proposal.reason, sizeof(proposal.reason), "%s", reason);
    int err = control_send(fd, CONTROL_TRANSPORT_PROPOSAL, &proposal, deadline);
    if (!err)
        err = control_receive(fd, &frame, deadline);
    if (!err)
        err = control_decode(&frame, CONTROL_TRANSPORT_REPLY, &reply);
    control_frame_free(&frame);
    if (err)
        return fail_with(error, CONTROL_RESULT_NOT_READY,
                         "the box's worker did not answer the choice of transport (%s): look at "
                         "rgpud's log there", strerror(-err));
    if (!reply.accepted)
        return fail_with(error, 0, "%s", reply.text);
    return 0;
}
