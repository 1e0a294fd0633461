// SPDX-License-Identifier: BSD-3-Clause
// One request at a time is pending, over a persistent connection.
#include "daemon/rgpud/broker/broker_connection.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/dns.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "common/security/api_auth.h"
#include "common/net/endpoint.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/security/ticket.h"

enum {
    DEFAULT_PORT = 7310,
    BROKERS_MAX = 4,
    MARGIN_SECONDS = 15, // added to a heartbeat before an answer counts as lost
};

struct broker_connection {
    struct box *box;
    broker_answered *answered;
    void *argument;
    struct endpoint brokers[BROKERS_MAX];
    unsigned broker_count, broker_at; // number of brokers, and index of the current one
    char peer[ENDPOINT_HOST_MAX + 8]; // host:port of the current one
    struct evdns_base *resolver;
    struct evhttp_connection *http;
    bool failed; // the next request makes a new connection
    unsigned heartbeat_ms;
    uint8_t secret[SHA256_SIZE]; // secret that signed the pending request
    char nonce[API_NONCE_TEXT];
};

// ---- authentication ----

// Returns the Authorization header, signed with the secret that this box and the broker share. The
// answer is checked with the same secret.
static char *authorization(struct broker_connection *connection, const char *text)
{
    const struct ticket_key *key = &connection->box->keys.keys[0];
    struct api_signature signature = {.time = time(NULL)};
    uint8_t nonce[(API_NONCE_TEXT - 1) / 2];
    char *header = NULL, line[160];

    if (!connection->box->keys.count || getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
        return NULL;
    hex_encode(nonce, sizeof(nonce), connection->nonce);
    strcpy(signature.nonce, connection->nonce);
    strcpy(signature.key, key->id);
    api_box_secret(key->secret, connection->secret);
    api_sign(connection->secret, text, &signature);
    api_signature_print(&signature, line);
    return asprintf(&header, "RgpuBox %s %s", connection->box->name, line) < 0 ? NULL : header;
}

static bool broker_connection_is_proven(const struct broker_connection *connection,
                                        struct evhttp_request *request)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    size_t size = evbuffer_get_length(body);
    const unsigned char *bytes = size ? evbuffer_pullup(body, -1) : (const unsigned char *)"";

    return bytes && api_is_proven(connection->secret, connection->nonce,
                                  evhttp_request_get_response_code(request), bytes, size,
                                  evhttp_find_header(evhttp_request_get_input_headers(request),
                                                     API_PROOF_HEADER));
}

// ---- requests ----

void broker_connection_drop(struct broker_connection *connection)
{
    if (connection->http)
        evhttp_connection_free(connection->http);
    connection->http = NULL;
    connection->failed = false;
}

static struct evhttp_connection *connected(struct broker_connection *connection)
{
    const struct endpoint *broker = &connection->brokers[connection->broker_at];

    if (connection->failed)
        broker_connection_drop(connection);
    if (!connection->http) {
        connection->http = evhttp_connection_base_new(connection->box->base, connection->resolver,
                                                      broker->host, broker->port);
        if (connection->http)
            evhttp_connection_set_timeout(connection->http,
                                          (int)(connection->heartbeat_ms / 1000) + MARGIN_SECONDS);
    }
    return connection->http;
}

static json_t *broker_connection_read_answer(struct evhttp_request *request)
{
    struct evbuffer *buffer = evhttp_request_get_input_buffer(request);
    size_t size = evbuffer_get_length(buffer);

    return size ? json_loadb((const char *)evbuffer_pullup(buffer, -1), size, 0, NULL) : NULL;
}

static void broker_connection_take_answer(struct evhttp_request *request, void *argument)
{
    struct broker_connection *connection = argument;
    int status = request ? evhttp_request_get_response_code(request) : 0;
    json_t *answer = status ? broker_connection_read_answer(request) : NULL;

    connection->failed |= !status;
    connection->answered(connection->argument, status,
                         status && broker_connection_is_proven(connection, request), answer);
    json_decref(answer);
}

// Sends a signed request. The library owns the request from the call on, even if the call fails.
static int send_signed(struct broker_connection *connection, const char *method, const char *path,
                       const char *text, const char *digest, const char *credentials)
{
    struct evhttp_connection *http = connected(connection);
    struct evhttp_request *request =
        http ? evhttp_request_new(broker_connection_take_answer, connection) : NULL;
    struct evkeyvalq *headers;

    if (!request)
        return -ENOMEM;
    headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Host", connection->peer);
    evhttp_add_header(headers, "Content-Type", "application/json");
    evhttp_add_header(headers, "Authorization", credentials);
    evhttp_add_header(headers, "Content-SHA256", digest);
    evbuffer_add(evhttp_request_get_output_buffer(request), text, strlen(text));
    return evhttp_make_request(http, request,
                               strcmp(method, "PUT") ? EVHTTP_REQ_POST : EVHTTP_REQ_PUT, path)
               ? -EIO
               : 0;
}

int broker_connection_send(struct broker_connection *connection, const char *method,
                           const char *suffix, const json_t *body)
{
    SCOPED_FREE char *text = json_dumps(body, JSON_COMPACT);
    SCOPED_FREE char *signed_text = NULL;
    SCOPED_FREE char *credentials = NULL;
    char path[256], digest[API_DIGEST_TEXT];

    if (!text)
        return -ENOMEM;
    snprintf(path, sizeof(path), "/v1/boxes/%s%s", connection->box->name, suffix);
    api_digest(text, strlen(text), digest);
    signed_text = api_signed_text(method, path, digest);
    credentials = signed_text ? authorization(connection, signed_text) : NULL;
    return credentials ? send_signed(connection, method, path, text, digest, credentials) : -ENOMEM;
}

// ---- choosing a broker ----

const char *broker_connection_peer(const struct broker_connection *connection)
{
    return connection->peer;
}

static void broker_connection_choose(struct broker_connection *connection, unsigned at)
{
    const struct endpoint *broker = &connection->brokers[at];

    connection->broker_at = at;
    snprintf(connection->peer, sizeof(connection->peer), "%s:%u", broker->host, broker->port);
}

void broker_connection_turn(struct broker_connection *connection)
{
    broker_connection_choose(connection, (connection->broker_at + 1) % connection->broker_count);
    connection->failed |= connection->broker_count > 1;
}

void broker_connection_expect(struct broker_connection *connection, unsigned heartbeat_ms)
{
    connection->heartbeat_ms = heartbeat_ms;
}

static int broker_connection_parse(const char *text, struct endpoint *broker)
{
    if (!endpoint_parse(text, DEFAULT_PORT, broker) && !broker->is_unix && *broker->host)
        return 0;
    config_complain(settings_table, "broker", "broker", "broker=%s is not host:port", text);
    return -EINVAL;
}

int broker_connection_check(const struct box_settings *settings)
{
    struct endpoint broker;
    unsigned count = 0;
    int err = 0;

    for (char **text = settings->broker; *text; text++, count++)
        if (broker_connection_parse(*text, &broker))
            err = -EINVAL;
    if (count > BROKERS_MAX) {
        config_complain(settings_table, "broker", "broker", "broker: more than %d addresses",
                        BROKERS_MAX);
        err = -EINVAL;
    }
    if (count && settings->auth != AUTH_TICKET) {
        config_complain(settings_table, "broker", "broker",
                        "a box of a pool asks for tickets: set auth = ticket and key_file");
        err = -EINVAL;
    }
    return err;
}

static int find_brokers(struct broker_connection *connection)
{
    for (char **text = connection->box->settings.broker; *text; text++)
        if (broker_connection_parse(*text, &connection->brokers[connection->broker_count++]))
            return -EINVAL;
    broker_connection_choose(connection, 0);
    return 0;
}

int broker_connection_open(struct box *box, broker_answered *answered, void *argument,
                           struct broker_connection **out)
{
    struct broker_connection *connection = calloc(1, sizeof(*connection));
    int err;

    if (!connection)
        return -ENOMEM;
    *connection =
        (struct broker_connection){.box = box, .answered = answered, .argument = argument};
    err = find_brokers(connection);
    if (err) {
        broker_connection_close(&connection);
        return err;
    }
    connection->resolver = evdns_base_new(box->base, EVDNS_BASE_INITIALIZE_NAMESERVERS |
                                                         EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    *out = connection;
    return 0;
}

void broker_connection_close(struct broker_connection **pointer)
{
    struct broker_connection *connection = *pointer;

    if (!connection)
        return;
    *pointer = NULL;
    broker_connection_drop(connection);
    if (connection->resolver)
        evdns_base_free(connection->resolver, 0);
    explicit_bzero(connection, sizeof(*connection));
    free(connection);
}
