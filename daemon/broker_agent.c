// SPDX-License-Identifier: BSD-3-Clause
// One request at a time is out to the broker, which answers it when there is something to do or
// when the next report is due:
//
//     PUT  /v1/boxes/NAME         this box, its GPUs; answered with the leases to be refused
//     POST /v1/boxes/NAME/sync    what runs, which ends are complete; answered with leases to end
#include "daemon/broker_agent.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/dns.h>
#include <event2/http.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "common/api_auth.h"
#include "common/endpoint.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/scope.h"
#include "common/ticket.h"
#include "daemon/broker_orders.h"
#include "daemon/broker_report.h"

enum {
    DEFAULT_PORT = 7310,
    BROKERS_MAX = 4,
    RETRY_MIN_MS = 200,
    RETRY_MAX_MS = 5000,
    ENDING_MS = 500,     // how long a report waits for sessions that are being ended
    MARGIN_SECONDS = 15, // beyond a heartbeat, before an answer counts as lost
};

enum agent_state {
    AGENT_OFFLINE, // waiting to try again, or for the devices to become known
    AGENT_REGISTERING,
    AGENT_REGISTERED, // between two reports
    AGENT_REPORTING,
};

static const char *const state_names[] = {
    [AGENT_OFFLINE] = "offline",
    [AGENT_REGISTERING] = "registering",
    [AGENT_REGISTERED] = "registered",
    [AGENT_REPORTING] = "reporting",
};

struct broker_agent {
    struct box *box;
    enum agent_state state;
    struct endpoint broker; // of those below the one that is asked
    struct endpoint brokers[BROKERS_MAX];
    unsigned broker_count, broker_at;
    struct evdns_base *resolver;
    struct evhttp_connection *connection;
    bool connection_failed;
    struct event *timer;
    unsigned retry_ms, heartbeat_ms;
    bool was_online;
    bool doubted;                // it has been said that somebody else answers
    char instance[33];           // of this start of the daemon
    unsigned described;          // the box's description that the broker has
    uint8_t secret[SHA256_SIZE]; // that signed the request which is out
    char nonce[API_NONCE_TEXT];
    struct broker_orders orders;
};

static void send_next(struct broker_agent *agent);

static void move(struct broker_agent *agent, enum agent_state state)
{
    if (agent->state != state)
        log_debug("broker agent state=%s was=%s", state_names[state], state_names[agent->state]);
    agent->state = state;
}

static void arm(struct broker_agent *agent, unsigned milliseconds)
{
    struct timeval delay = {.tv_sec = milliseconds / 1000,
                            .tv_usec = (suseconds_t)(milliseconds % 1000) * 1000};

    event_add(agent->timer, &delay);
}

static void go_offline(struct broker_agent *agent, const char *why)
{
    if (agent->was_online || agent->retry_ms == RETRY_MIN_MS)
        log_warn("the broker is away broker=%s:%u reason=\"%s\"; sessions go on",
                 agent->broker.host, agent->broker.port, why);
    agent->was_online = false;
    // A standby may have taken over.
    agent->broker_at = (agent->broker_at + 1) % agent->broker_count;
    agent->broker = agent->brokers[agent->broker_at];
    agent->connection_failed |= agent->broker_count > 1;
    move(agent, AGENT_OFFLINE);
    arm(agent, agent->retry_ms);
    agent->retry_ms = agent->retry_ms * 2 < RETRY_MAX_MS ? agent->retry_ms * 2 : RETRY_MAX_MS;
}

// ---- authentication ----

// Signed with the secret that this box and the broker have in common, which proves the answer too.
static char *authorization(struct broker_agent *agent, const char *text)
{
    const struct ticket_key *key = &agent->box->keys.keys[0];
    struct api_signature signature = {.time = time(NULL)};
    uint8_t nonce[(API_NONCE_TEXT - 1) / 2];
    char *header = NULL, line[160];

    if (!agent->box->keys.count || getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
        return NULL;
    hex_encode(nonce, sizeof(nonce), agent->nonce);
    strcpy(signature.nonce, agent->nonce);
    strcpy(signature.key, key->id);
    api_box_secret(key->secret, agent->secret);
    api_sign(agent->secret, text, &signature);
    api_signature_print(&signature, line);
    return asprintf(&header, "RgpuBox %s %s", agent->box->name, line) < 0 ? NULL : header;
}

static bool is_proven(const struct broker_agent *agent, struct evhttp_request *request)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    size_t size = evbuffer_get_length(body);
    const unsigned char *bytes = size ? evbuffer_pullup(body, -1) : (const unsigned char *)"";

    return bytes && api_is_proven(agent->secret, agent->nonce,
                                  evhttp_request_get_response_code(request), bytes, size,
                                  evhttp_find_header(evhttp_request_get_input_headers(request),
                                                     API_PROOF_HEADER));
}

// ---- requests ----

static void drop_connection(struct broker_agent *agent)
{
    if (agent->connection)
        evhttp_connection_free(agent->connection);
    agent->connection = NULL;
    agent->connection_failed = false;
}

static struct evhttp_connection *connection(struct broker_agent *agent)
{
    if (agent->connection_failed)
        drop_connection(agent);
    if (!agent->connection) {
        agent->connection = evhttp_connection_base_new(agent->box->base, agent->resolver,
                                                       agent->broker.host, agent->broker.port);
        if (agent->connection)
            evhttp_connection_set_timeout(agent->connection,
                                          (int)(agent->heartbeat_ms / 1000) + MARGIN_SECONDS);
    }
    return agent->connection;
}

static json_t *read_answer(struct evhttp_request *request)
{
    struct evbuffer *buffer = evhttp_request_get_input_buffer(request);
    size_t size = evbuffer_get_length(buffer);

    return size ? json_loadb((const char *)evbuffer_pullup(buffer, -1), size, 0, NULL) : NULL;
}

static void refused(struct broker_agent *agent, int status, const json_t *answer)
{
    const json_t *error = json_object_get(answer, "error");
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *message = json_string_value(json_object_get(error, "message"));

    if (code && !strcmp(code, "register")) {
        // The broker was restarted, or has given this box up for lost: it does not know it any more.
        move(agent, AGENT_OFFLINE);
        arm(agent, 0);
        return;
    }
    char why[256];
    snprintf(why, sizeof(why), "status %d: %s", status, message ? message : "no answer");
    go_offline(agent, why);
}

static void registered(struct broker_agent *agent, const json_t *answer)
{
    json_int_t heartbeat = json_integer_value(json_object_get(answer, "heartbeat"));

    agent->heartbeat_ms = heartbeat > 0 && heartbeat < 600000 ? (unsigned)heartbeat : 5000;
    agent->retry_ms = RETRY_MIN_MS;
    agent->was_online = true;
    agent->doubted = false;
    agent->orders.ending_count = 0;
    if (broker_orders_adopt(&agent->orders, answer)) {
        go_offline(agent, "what it says of its history cannot be");
        return;
    }
    log_info("registered at the broker broker=%s:%u name=%s", agent->broker.host,
             agent->broker.port, agent->box->name);
    if (broker_orders_take(&agent->orders, json_object_get(answer, "revoked"), false)) {
        go_offline(agent, "revoked leases cannot be remembered");
        return;
    }
    broker_orders_end_unknown(&agent->orders);
    move(agent, AGENT_REGISTERED);
    arm(agent, 0);
}

static void reported(struct broker_agent *agent, const json_t *answer)
{
    const json_t *orders = json_object_get(answer, "revoke");
    bool repeated = broker_orders_repeat(&agent->orders, orders);

    fault_point("agent.answered");
    agent->orders.ending_count =
        0; // those that were complete have been said; others are named again
    agent->retry_ms = RETRY_MIN_MS;
    move(agent, AGENT_REGISTERED);
    if (broker_orders_note(&agent->orders, answer)) {
        go_offline(agent, "what it says of its history cannot be");
        return;
    }
    broker_orders_restore(&agent->orders, json_object_get(answer, "restored"));
    if (broker_orders_take(&agent->orders, orders, true)) {
        arm(agent, RETRY_MAX_MS);
        return;
    }
    arm(agent, repeated || broker_orders_wait(&agent->orders) ? ENDING_MS : 0);
}

// An answer without a proof is not acted on. A broker that does not know our key cannot prove itself either, so the
// reason that it gives is logged and has no other effect.
static void answered_by_whom(struct broker_agent *agent, int status, const json_t *answer)
{
    const char *message =
        json_string_value(json_object_get(json_object_get(answer, "error"), "message"));
    char why[400];

    if (status == 401)
        snprintf(why, sizeof(why),
                 "status 401, without proof of being the broker: %.150s; see that "
                 "key_file holds the key of box %.40s",
                 message ? message : "no reason", agent->box->name);
    else
        snprintf(why, sizeof(why), "status %d, without proof of being the broker", status);
    if (!agent->doubted)
        log_warn("who answers at broker=%s:%u is not believed: %s", agent->broker.host,
                 agent->broker.port, why);
    agent->doubted = true;
    go_offline(agent, why);
}

static void answered(struct evhttp_request *request, void *argument)
{
    struct broker_agent *agent = argument;
    int status = request ? evhttp_request_get_response_code(request) : 0;
    json_t *answer = status ? read_answer(request) : NULL;

    if (!status) {
        agent->connection_failed = true;
        go_offline(agent, "no connection, or no answer in time");
    } else if (!is_proven(agent, request)) {
        answered_by_whom(agent, status, answer);
    } else if (status != 200 || !answer) {
        refused(agent, status, answer);
    } else if (agent->state == AGENT_REGISTERING) {
        registered(agent, answer);
    } else {
        reported(agent, answer);
    }
    json_decref(answer);
}

static int send_request(struct broker_agent *agent, enum evhttp_cmd_type method, const char *suffix,
                        const json_t *body)
{
    struct evhttp_request *request = evhttp_request_new(answered, agent);
    SCOPED_FREE char *text = json_dumps(body, JSON_COMPACT);
    SCOPED_FREE char *signed_text = NULL;
    SCOPED_FREE char *credentials = NULL;
    char path[256], host[300], digest[API_DIGEST_TEXT];
    struct evkeyvalq *headers;
    int err = -ENOMEM;

    snprintf(path, sizeof(path), "/v1/boxes/%s%s", agent->box->name, suffix);
    snprintf(host, sizeof(host), "%s:%u", agent->broker.host, agent->broker.port);
    if (text) {
        api_digest(text, strlen(text), digest);
        signed_text = api_signed_text(method == EVHTTP_REQ_PUT ? "PUT" : "POST", path, digest);
    }
    if (signed_text)
        credentials = authorization(agent, signed_text);
    if (request && credentials && connection(agent)) {
        headers = evhttp_request_get_output_headers(request);
        evhttp_add_header(headers, "Host", host);
        evhttp_add_header(headers, "Content-Type", "application/json");
        evhttp_add_header(headers, "Authorization", credentials);
        evhttp_add_header(headers, "Content-SHA256", digest);
        evbuffer_add(evhttp_request_get_output_buffer(request), text, strlen(text));
        // The library owns the request from here on, also where this fails.
        err = evhttp_make_request(agent->connection, request, method, path) ? -EIO : 0;
        request = NULL;
    }
    if (request)
        evhttp_request_free(request);
    return err;
}

static void register_box(struct broker_agent *agent)
{
    json_t *body = broker_report_box(agent->box, agent->instance);

    broker_orders_put_point(&agent->orders, body);
    move(agent, AGENT_REGISTERING);
    agent->described = agent->box->description;
    if (send_request(agent, EVHTTP_REQ_PUT, "", body))
        go_offline(agent, "the request cannot be made");
    json_decref(body);
}

static void report(struct broker_agent *agent)
{
    const struct box *box = agent->box;
    json_t *body = json_pack("{s:s, s:o, s:o, s:o, s:b}", "instance", agent->instance, "sessions",
                             broker_report_sessions(box), "figures", broker_report_figures(box),
                             "ended", broker_orders_endings(&agent->orders), "accepting",
                             box->state == BOX_SERVING);

    if (agent->orders.refused)
        json_object_set(body, "refused", agent->orders.refused);
    move(agent, AGENT_REPORTING);
    if (send_request(agent, EVHTTP_REQ_POST, "/sync", body))
        go_offline(agent, "the request cannot be made");
    json_decref(body);
}

static void send_next(struct broker_agent *agent)
{
    switch (agent->state) {
    case AGENT_OFFLINE:
        if (agent->box->devices_known)
            register_box(agent);
        return;
    case AGENT_REGISTERED:
        if (agent->described != agent->box->description)
            register_box(agent);
        else
            report(agent);
        return;
    case AGENT_REGISTERING:
    case AGENT_REPORTING: return; // the answer goes on
    }
}

static void on_timer(evutil_socket_t fd, short events, void *argument)
{
    send_next(argument);
}

// ---- the box's side ----

void broker_agent_review(struct box *box)
{
    struct broker_agent *agent = box->agent;

    if (!agent)
        return;
    if (agent->state == AGENT_OFFLINE && box->devices_known && !evtimer_pending(agent->timer, NULL))
        arm(agent, 0);
    // The report that is out describes the box as it was before the change, so it is taken back and sent anew.
    if (agent->state == AGENT_REPORTING && agent->described != box->description) {
        drop_connection(agent);
        move(agent, AGENT_REGISTERED);
        arm(agent, 0);
    }
    // The broker waits for the report that the last session of a lease has ended, and that this is on disk.
    if (agent->state == AGENT_REGISTERED && agent->orders.ending_count > 0 &&
        !broker_orders_wait(&agent->orders))
        arm(agent, 0);
}

const char *broker_agent_objection(const struct box *box, const struct session_grant *grant)
{
    return box->agent ? broker_orders_objection(&box->agent->orders, grant) : NULL;
}

static int find_brokers(struct broker_agent *agent)
{
    for (char **text = agent->box->settings.broker; *text; text++) {
        struct endpoint *broker = &agent->brokers[agent->broker_count];

        if (agent->broker_count == BROKERS_MAX) {
            log_error("broker: more than %d addresses", BROKERS_MAX);
            return -EINVAL;
        }
        if (endpoint_parse(*text, DEFAULT_PORT, broker) || broker->is_unix || !*broker->host) {
            log_error("broker=%s is not host:port", *text);
            return -EINVAL;
        }
        agent->broker_count++;
    }
    agent->broker = agent->brokers[0];
    return 0;
}

static int set_up(struct broker_agent *agent)
{
    struct box *box = agent->box;
    uint8_t instance[16];
    int err = find_brokers(agent);

    if (err)
        return err;
    if (getrandom(instance, sizeof(instance), 0) != sizeof(instance))
        return -EIO;
    hex_encode(instance, sizeof(instance), agent->instance);
    if (!box->keys.count) {
        log_error("a box of a pool asks for tickets: set auth = ticket and key_file");
        return -EINVAL;
    }
    err = broker_orders_open(box, &agent->orders);
    if (err)
        return err;
    agent->retry_ms = RETRY_MIN_MS;
    agent->heartbeat_ms = 5000;
    agent->resolver = evdns_base_new(box->base, EVDNS_BASE_INITIALIZE_NAMESERVERS |
                                                    EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    agent->timer = evtimer_new(box->base, on_timer, agent);
    return agent->timer ? 0 : -ENOMEM;
}

int broker_agent_open(struct box *box)
{
    int err;

    if (!*box->settings.broker)
        return 0;
    box->agent = calloc(1, sizeof(*box->agent));
    if (!box->agent)
        return -ENOMEM;
    box->agent->box = box;
    err = set_up(box->agent);
    if (err)
        broker_agent_close(box);
    return err;
}

void broker_agent_close(struct box *box)
{
    struct broker_agent *agent = box->agent;

    if (!agent)
        return;
    box->agent = NULL;
    if (agent->timer)
        event_free(agent->timer);
    drop_connection(agent);
    if (agent->resolver)
        evdns_base_free(agent->resolver, 0);
    broker_orders_close(&agent->orders);
    explicit_bzero(agent, sizeof(*agent));
    free(agent);
}
