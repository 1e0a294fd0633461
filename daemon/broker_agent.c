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
#include "common/ticket.h"
#include "daemon/history.h"
#include "daemon/revocations.h"
#include "daemon/worker.h"

enum {
    DEFAULT_PORT = 7310,
    RETRY_MIN_MS = 200,
    RETRY_MAX_MS = 5000,
    ENDING_MS = 500,      // how long a report waits for sessions that are being ended
    MARGIN_SECONDS = 15,  // beyond a heartbeat, before an answer counts as lost
    ENDINGS_MAX = 4096,
    EPOCH_AHEAD_MAX = 2 * 86400, // of this clock
};

enum agent_state {
    AGENT_OFFLINE,  // waiting to try again, or for the devices to become known
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

// A lease that the broker has asked to end; its sessions may still be about to go.
struct ending {
    char lease[128];
    bool confirmed; // in the report that is out
};

struct broker_agent {
    struct box *box;
    enum agent_state state;
    struct endpoint broker;
    struct evdns_base *resolver;
    struct evhttp_connection *connection;
    bool connection_failed;
    struct event *timer;
    unsigned retry_ms, heartbeat_ms;
    bool was_online;
    bool doubted; // it has been said that somebody else answers
    char instance[33]; // of this start of the daemon
    unsigned described; // the box's description that the broker has
    uint8_t secret[SHA256_SIZE]; // that signed the request which is out
    char nonce[API_NONCE_TEXT];
    struct revocations *revocations;
    struct history *history;
    json_t *refused; // leases of the broker's that are on the list of revocations
    struct ending *endings;
    size_t ending_count;
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
    move(agent, AGENT_OFFLINE);
    arm(agent, agent->retry_ms);
    agent->retry_ms = agent->retry_ms * 2 < RETRY_MAX_MS ? agent->retry_ms * 2 : RETRY_MAX_MS;
}

// ---- leases that end ----

static bool runs(const struct box *box, const char *lease)
{
    const struct worker *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->session.id && !strcmp(worker->session.grant.lease, lease))
            return true;
    return false;
}

static void end_sessions(struct box *box, const char *lease)
{
    struct worker *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->session.id && worker->state != WORKER_ENDING &&
            !strcmp(worker->session.grant.lease, lease))
            worker_end(worker, CONTROL_END_REASON_REVOKED, "the lease has ended");
}

static bool any_still_runs(const struct broker_agent *agent)
{
    for (size_t i = 0; i < agent->ending_count; i++)
        if (runs(agent->box, agent->endings[i].lease))
            return true;
    return false;
}

static int add_ending(struct broker_agent *agent, const char *lease)
{
    struct ending *longer;

    for (size_t i = 0; i < agent->ending_count; i++)
        if (!strcmp(agent->endings[i].lease, lease))
            return 0;
    if (agent->ending_count == ENDINGS_MAX)
        return -ENOSPC; // the broker asks again
    longer = realloc(agent->endings, (agent->ending_count + 1) * sizeof(*longer));
    if (!longer)
        return -ENOMEM;
    agent->endings = longer;
    longer[agent->ending_count].confirmed = false;
    snprintf(longer[agent->ending_count++].lease, sizeof(longer->lease), "%s", lease);
    return 0;
}

// The broker asks once more for what the report before has confirmed.
static bool repeats_what_is_over(const struct broker_agent *agent, const json_t *list)
{
    size_t i;
    json_t *entry;

    json_array_foreach(list, i, entry) {
        const char *lease = json_string_value(json_object_get(entry, "lease"));
        for (size_t j = 0; lease && j < agent->ending_count; j++)
            if (agent->endings[j].confirmed && !strcmp(agent->endings[j].lease, lease))
                return true;
    }
    return false;
}

static bool is_lease_name(const char *lease)
{
    return lease && *lease && strlen(lease) < sizeof(((struct ending *)0)->lease) &&
           !strpbrk(lease, " \n\r\t");
}

static const char *ordered_lease(const json_t *order)
{
    const char *lease = json_string_value(json_object_get(order, "lease"));

    return is_lease_name(lease) ? lease : NULL;
}

static int64_t clock_skew(const struct box *box)
{
    return (int64_t)(box->settings.clock_skew / 1000000);
}

// No ticket that has been issued by now is accepted at a later time than this.
static int64_t latest_expiry(const struct box *box)
{
    return time(NULL) + clock_skew(box) + (int64_t)(box->settings.max_ticket_lifetime / 1000000);
}

// A lease of which no ticket is accepted any more need not be remembered.
static int refuse_from_now_on(struct broker_agent *agent, const json_t *order)
{
    const json_t *member = json_object_get(order, "until");
    int64_t latest = latest_expiry(agent->box);
    int64_t until = json_is_integer(member) ? json_integer_value(member) : latest;

    if (until < time(NULL) - clock_skew(agent->box))
        return 0;
    return revocations_add(agent->revocations, ordered_lease(order),
                           until < latest ? until : latest);
}

// Refuses the leases of a list from now on. Their ends are confirmed only once that is on disk.
static int revoke_all(struct broker_agent *agent, const json_t *list, bool confirm)
{
    size_t i;
    json_t *entry;
    int err = 0;

    if (json_array_size(list) == 0)
        return 0;
    json_array_foreach(list, i, entry) {
        const char *lease = ordered_lease(entry);
        if (!lease)
            continue;
        if (!err)
            err = refuse_from_now_on(agent, entry);
        end_sessions(agent->box, lease);
        if (confirm)
            log_info("lease=%s is to end", lease);
    }
    if (!err && confirm)
        err = fault_point("agent.before_save");
    if (!err)
        err = revocations_save(agent->revocations, time(NULL) - clock_skew(agent->box));
    if (!err && confirm)
        err = fault_point("agent.after_save");
    for (i = 0; confirm && !err && i < json_array_size(list); i++) {
        const char *lease = ordered_lease(json_array_get(list, i));
        if (lease)
            err = add_ending(agent, lease);
    }
    return err;
}

// ---- what is said ----

static json_t *describe_gpu(const struct box *box, const struct device *device)
{
    uint64_t context = device->info.context_cost;
    json_t *name = json_string(device->info.name);

    return json_pack("{s:s, s:i, s:o, s:I, s:b, s:I, s:I, s:s}", "uuid", device->uuid, "index",
                     (int)device->ordinal, "model", name ? name : json_string("unknown"), "memory",
                     (json_int_t)device->info.memory, "ready", device->measured, "reserved",
                     (json_int_t)(context * (uint64_t)box->settings.warm_workers), "context",
                     (json_int_t)context, "mode",
                     box->settings.gpu_mode == 1 ? "shared" : "exclusive");
}

// Where clients reach this box: what the administrator says, else what is listened on.
static void announced_addresses(const struct box *box, char *text, size_t size)
{
    size_t used = 0;

    if (!box->settings.announce[0]) {
        listeners_text(box, text, size);
        return;
    }
    text[0] = '\0';
    for (char **name = box->settings.announce; *name && used < size; name++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", *name);
}

static json_t *describe_box(const struct broker_agent *agent)
{
    const struct box *box = agent->box;
    json_t *gpus = json_array();
    char addresses[512], transports[64] = "";

    announced_addresses(box, addresses, sizeof(addresses));
    for (char **name = box->settings.transports; *name; name++)
        snprintf(transports + strlen(transports), sizeof(transports) - strlen(transports), "%s%s",
                 *transports ? "," : "", *name);
    for (uint32_t i = 0; i < box->device_count; i++)
        json_array_append_new(gpus, describe_gpu(box, &box->devices[i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:o}", "instance", agent->instance,
                     "addresses", addresses, "locality",
                     box->settings.locality ? box->settings.locality : "", "transports",
                     transports, "version", RGPU_VERSION, "clock_skew",
                     (json_int_t)clock_skew(box), "gpus", gpus);
}

static json_t *describe_sessions(const struct box *box)
{
    json_t *list = json_array();
    const struct worker *worker;

    TAILQ_FOREACH(worker, &box->workers, link) {
        const struct session *session = &worker->session;
        json_t *client;
        if (!session->id)
            continue;
        client = json_string(session->client);
        json_array_append_new(list, json_pack(
            "{s:I, s:s, s:I, s:o, s:s, s:s, s:s, s:s, s:f, s:I, s:I, s:I, s:I}",
            "session", (json_int_t)session->id, "lease", session->grant.lease, "epoch",
            (json_int_t)session->grant.epoch, "client",
            client ? client : json_string("?"), "peer", session->peer, "gpu",
            session->grant.device_count ? session->grant.devices[0]->uuid : "", "protection",
            control_protection_name(session->protection), "transport",
            control_transport_name(session->stats.transport), "age_seconds",
            (double)(control_now_ms() - session->since_ms) / 1000, "memory",
            (json_int_t)session->stats.memory, "bytes_in", (json_int_t)session->stats.bytes_in,
            "bytes_out", (json_int_t)session->stats.bytes_out, "calls",
            (json_int_t)session->stats.calls));
    }
    return list;
}

static json_t *describe_endings(struct broker_agent *agent)
{
    json_t *list = json_array();

    for (size_t i = 0; i < agent->ending_count; i++)
        if ((agent->endings[i].confirmed = !runs(agent->box, agent->endings[i].lease)))
            json_array_append_new(list, json_string(agent->endings[i].lease));
    return list;
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
    const unsigned char *bytes =
        size ? evbuffer_pullup(body, -1) : (const unsigned char *)"";

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
        // The broker was started anew, or took us for lost.
        move(agent, AGENT_OFFLINE);
        arm(agent, 0);
        return;
    }
    char why[256];
    snprintf(why, sizeof(why), "status %d: %s", status, message ? message : "no answer");
    go_offline(agent, why);
}

static int note_point(struct broker_agent *agent, const json_t *answer)
{
    const char *run = json_string_value(json_object_get(answer, "run"));
    json_int_t event = json_integer_value(json_object_get(answer, "event"));

    if (!run || !*run || strspn(run, "0123456789abcdef") != strlen(run) || strlen(run) > 32 ||
        event < 0)
        return -EBADMSG;
    history_note(agent->history, run, event);
    return 0;
}

// Leases that live, and that this box was told to refuse: the broker says what is to be.
static void note_refused(struct broker_agent *agent, const char *const *leases, size_t count)
{
    json_decref(agent->refused);
    agent->refused = json_array();
    for (size_t i = 0; i < count; i++)
        if (revocations_has(agent->revocations, leases[i]))
            json_array_append_new(agent->refused, json_string(leases[i]));
}

static int adopt_history(struct broker_agent *agent, const json_t *answer)
{
    const json_t *list = json_object_get(answer, "leases");
    int64_t epoch = json_integer_value(json_object_get(answer, "epoch"));
    size_t count = 0, size = json_array_size(list);
    const char **leases = calloc(size + 1, sizeof(*leases));
    int err = leases ? note_point(agent, answer) : -ENOMEM;

    for (size_t i = 0; !err && i < size; i++) {
        const char *lease = json_string_value(json_array_get(list, i));
        if (is_lease_name(lease))
            leases[count++] = lease;
    }
    if (!err && (epoch < 1 || epoch > time(NULL) + EPOCH_AHEAD_MAX))
        err = -ERANGE;
    if (!err)
        err = history_adopt(agent->history, epoch, leases, count);
    if (!err)
        err = history_save(agent->history);
    if (!err)
        note_refused(agent, leases, count);
    free(leases);
    return err;
}

// Sessions of leases from a part of the history that is lost.
static void end_unknown_sessions(struct broker_agent *agent)
{
    struct worker *worker;

    TAILQ_FOREACH(worker, &agent->box->workers, link) {
        const struct session_grant *grant = &worker->session.grant;
        if (worker->session.id && !history_accepts(agent->history, grant->lease, grant->epoch)) {
            log_warn("session=%llu lease=%s is ended: the broker does not know the lease",
                     (unsigned long long)worker->session.id, grant->lease);
            worker_end(worker, CONTROL_END_REASON_REVOKED, "the broker does not know the lease");
        }
    }
}

// Leases that are refused and of which the broker says that they live.
static int take_again(struct broker_agent *agent, const json_t *list)
{
    const json_t *entry;
    size_t i;

    json_decref(agent->refused);
    agent->refused = NULL;
    json_array_foreach(list, i, entry) {
        const char *lease = json_string_value(entry);
        if (!is_lease_name(lease))
            continue;
        log_warn("lease=%s is taken again: the broker has not ended it", lease);
        revocations_remove(agent->revocations, lease);
    }
    return revocations_save(agent->revocations, time(NULL) - clock_skew(agent->box));
}

static void registered(struct broker_agent *agent, const json_t *answer)
{
    json_int_t heartbeat = json_integer_value(json_object_get(answer, "heartbeat"));

    agent->heartbeat_ms = heartbeat > 0 && heartbeat < 600000 ? (unsigned)heartbeat : 5000;
    agent->retry_ms = RETRY_MIN_MS;
    agent->was_online = true;
    agent->doubted = false;
    agent->ending_count = 0;
    if (adopt_history(agent, answer)) {
        go_offline(agent, "what it says of its history cannot be");
        return;
    }
    log_info("registered at the broker broker=%s:%u name=%s", agent->broker.host,
             agent->broker.port, agent->box->name);
    if (revoke_all(agent, json_object_get(answer, "revoked"), false)) {
        go_offline(agent, "revoked leases cannot be remembered");
        return;
    }
    end_unknown_sessions(agent);
    move(agent, AGENT_REGISTERED);
    arm(agent, 0);
}

static void reported(struct broker_agent *agent, const json_t *answer)
{
    const json_t *orders = json_object_get(answer, "revoke");
    bool repeated = repeats_what_is_over(agent, orders);

    fault_point("agent.answered");
    agent->ending_count = 0; // those that were complete have been said; others are named again
    agent->retry_ms = RETRY_MIN_MS;
    move(agent, AGENT_REGISTERED);
    if (note_point(agent, answer)) {
        go_offline(agent, "what it says of its history cannot be");
        return;
    }
    if (take_again(agent, json_object_get(answer, "restored")) ||
        revoke_all(agent, orders, true)) {
        arm(agent, RETRY_MAX_MS);
        return;
    }
    arm(agent, repeated || any_still_runs(agent) ? ENDING_MS : 0);
}

// Whoever cannot prove that he is the broker is not obeyed. Where the broker does not know our key it
// cannot prove itself either, so its reason is worth a line in the log, and nothing more.
static void answered_by_whom(struct broker_agent *agent, int status, const json_t *answer)
{
    const char *message =
        json_string_value(json_object_get(json_object_get(answer, "error"), "message"));
    char why[400];

    if (status == 401)
        snprintf(why, sizeof(why), "status 401, without proof of being the broker: %.150s; see that "
                 "key_file holds the key of box %.40s", message ? message : "no reason",
                 agent->box->name);
    else
        snprintf(why, sizeof(why), "status %d, without proof of being the broker", status);
    if (!agent->doubted)
        log_warn("who answers at broker=%s:%u is not believed: %s", agent->broker.host,
                 agent->broker.port, why);
    agent->doubted = true;
    go_offline(agent, why);
}

static void answered(struct evhttp_request *request, void *opaque)
{
    struct broker_agent *agent = opaque;
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

static int send_request(struct broker_agent *agent, enum evhttp_cmd_type method,
                        const char *suffix, const json_t *body)
{
    struct evhttp_request *request = evhttp_request_new(answered, agent);
    char *text = json_dumps(body, JSON_COMPACT), *signed_text = NULL, *credentials = NULL;
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
        // Takes over the request, also where it fails.
        err = evhttp_make_request(agent->connection, request, method, path) ? -EIO : 0;
        request = NULL;
    }
    if (request)
        evhttp_request_free(request);
    free(text);
    free(signed_text);
    free(credentials);
    return err;
}

static void add_point(const struct broker_agent *agent, json_t *body)
{
    int64_t epoch, event;
    const char *run;

    if (history_point(agent->history, &epoch, &run, &event))
        json_object_set_new(body, "seen", json_pack("{s:I, s:s, s:I}", "epoch", (json_int_t)epoch,
                                                    "run", run, "event", (json_int_t)event));
}

static void register_box(struct broker_agent *agent)
{
    json_t *body = describe_box(agent);

    add_point(agent, body);
    move(agent, AGENT_REGISTERING);
    agent->described = agent->box->description;
    if (send_request(agent, EVHTTP_REQ_PUT, "", body))
        go_offline(agent, "the request cannot be made");
    json_decref(body);
}

static void report(struct broker_agent *agent)
{
    const struct box *box = agent->box;
    json_t *body = json_pack("{s:s, s:o, s:o, s:b}", "instance", agent->instance, "sessions",
                             describe_sessions(box), "ended", describe_endings(agent),
                             "accepting", box->state == BOX_SERVING);

    if (agent->refused)
        json_object_set(body, "refused", agent->refused);
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
    case AGENT_REPORTING:
        return; // the answer goes on
    }
}

static void on_timer(evutil_socket_t fd, short events, void *opaque)
{
    send_next(opaque);
}

// ---- the box's side ----

void broker_agent_review(struct box *box)
{
    struct broker_agent *agent = box->agent;

    if (!agent)
        return;
    if (agent->state == AGENT_OFFLINE && box->devices_known && !evtimer_pending(agent->timer, NULL))
        arm(agent, 0);
    // The report that waits at the broker tells of a box that is no more as it was.
    if (agent->state == AGENT_REPORTING && agent->described != box->description) {
        drop_connection(agent);
        move(agent, AGENT_REGISTERED);
        arm(agent, 0);
    }
    // The last session of a lease that ends has gone: the broker waits to hear of it.
    if (agent->state == AGENT_REGISTERED && agent->ending_count > 0 && !any_still_runs(agent))
        arm(agent, 0);
}

const char *broker_agent_objection(const struct box *box, const struct session_grant *grant)
{
    const struct broker_agent *agent = box->agent;

    if (agent && revocations_has(agent->revocations, grant->lease))
        return "the lease has ended";
    if (agent && !history_accepts(agent->history, grant->lease, grant->epoch))
        return "the broker does not know the lease any more: its database was restored from an "
               "older copy; take a new lease";
    return NULL;
}

static int set_up(struct broker_agent *agent)
{
    struct box *box = agent->box;
    const char *directory = box->settings.state_dir ? box->settings.state_dir : ".";
    uint8_t instance[16];
    int err = endpoint_parse(box->settings.broker, DEFAULT_PORT, &agent->broker);

    if (err || agent->broker.is_unix || !*agent->broker.host) {
        log_error("broker=%s is not host:port", box->settings.broker);
        return -EINVAL;
    }
    if (getrandom(instance, sizeof(instance), 0) != sizeof(instance))
        return -EIO;
    hex_encode(instance, sizeof(instance), agent->instance);
    if (!box->keys.count) {
        log_error("a box of a pool asks for tickets: set auth = ticket and key_file");
        return -EINVAL;
    }
    err = revocations_open(directory, latest_expiry(box), &agent->revocations);
    if (!err)
        err = history_open(directory, &agent->history);
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

    if (!box->settings.broker)
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
    if (agent->history && history_save(agent->history) == 0)
        log_debug("the broker's history is remembered");
    history_close(&agent->history);
    revocations_close(&agent->revocations);
    json_decref(agent->refused);
    free(agent->endings);
    explicit_bzero(agent, sizeof(*agent));
    free(agent);
}
