// SPDX-License-Identifier: BSD-3-Clause
#include "common/net/broker_client.h"

#include <errno.h>
#include <munge.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "common/security/api_auth.h"
#include "common/base/descriptor.h"
#include "common/net/endpoint.h"
#include "common/net/http_exchange.h"
#include "common/base/scope.h"
#include "common/security/seal.h"
#include "common/security/ticket.h"

#define BROKER_PORT 7310

struct broker_client {
    char *address;
    char *addresses;   // with commas between: brokers of one pool
    size_t address_at; // where the present one begins there
    struct endpoint endpoint;
    char *munge_socket;
    struct ticket_key key;
    bool has_key;
    char *broker_user; // to whom munge hands the secret of a request
    bool may_look;     // the last request changes nothing
    bool is_signed;    // the last request; then these prove its answer
    uint8_t secret[SHA256_SIZE];
    char nonce[API_NONCE_TEXT];
    unsigned timeout_ms;
    char error[512], code[64];
};

int broker_client_explain(struct broker_client *client, int error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(client->error, sizeof(client->error), format, arguments);
    va_end(arguments);
    return error;
}

const char *broker_client_error(const struct broker_client *client)
{
    return client->error;
}

const char *broker_client_address(const struct broker_client *client)
{
    return client->address ? client->address : "";
}

// ---- opening ----

// The word of this number (from 0) in the first line of the address file that has any.
static char *word_from_file(int number)
{
    SCOPED_FILE FILE *file = descriptor_open_file(BROKER_ADDRESS_FILE, "r");
    char line[256], *word = NULL, *position;

    while (file && !word && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "#")] = '\0';
        word = strtok_r(line, " \t\r\n", &position);
        for (int i = 0; word && i < number; i++) {
            word = strtok_r(NULL, " \t\r\n", &position);
            if (!word)
                return NULL;
        }
    }
    return word ? strdup(word) : NULL;
}

static char *find_address(const char *option)
{
    const char *value = option ? option : secure_getenv("RGPU_BROKER");
    char *address;

    if (value && *value)
        return strdup(value);
    address = word_from_file(0);
    if (!address && access(BROKER_SOCKET, F_OK) == 0)
        address = strdup("unix:" BROKER_SOCKET);
    return address;
}

static char *find_broker_user(const char *option)
{
    const char *value = option ? option : secure_getenv("RGPU_BROKER_USER");
    char *user;

    if (value && *value)
        return strdup(value);
    user = word_from_file(1);
    return user ? user : strdup(BROKER_USER);
}

static int load_key(struct broker_client *client, const char *option)
{
    const char *path = option ? option : secure_getenv("RGPU_BROKER_KEY");
    struct ticket_keyring ring;
    int error;

    if (!path || !*path)
        return 0;
    error = ticket_keyring_load(path, &ring);
    if (error)
        return broker_client_explain(client, error, "key file %s: %s", path,
                                     ticket_keyring_explain(error));
    client->key = ring.keys[0];
    client->has_key = true;
    explicit_bzero(&ring, sizeof(ring));
    return 0;
}

// Takes the address after the present one, the first after the last; false where it is the only
// one.
static bool try_next(struct broker_client *client)
{
    const char *all = client->addresses, *at = all + client->address_at;
    size_t size = strcspn(at, ",");

    client->address_at = at[size] ? client->address_at + size + 1 : 0;
    at = all + client->address_at;
    free(client->address);
    client->address = strndup(at, strcspn(at, ","));
    return client->address && strchr(all, ',') &&
           endpoint_parse(client->address, BROKER_PORT, &client->endpoint) == 0;
}

static int set_address(struct broker_client *client, const char *option)
{
    client->addresses = find_address(option);
    if (client->addresses)
        client->address = strndup(client->addresses, strcspn(client->addresses, ","));
    if (!client->address)
        return broker_client_explain(
            client, -ENOENT,
            "no broker is known: set RGPU_BROKER to "
            "host:port or unix:/path, or write it to " BROKER_ADDRESS_FILE);
    if (endpoint_parse(client->address, BROKER_PORT, &client->endpoint) < 0)
        return broker_client_explain(client, -EINVAL,
                                     "%s is no address of a broker: host:port or "
                                     "unix:/path",
                                     client->address);
    return 0;
}

int broker_client_open(const struct broker_client_options *options, struct broker_client **out)
{
    static const struct broker_client_options defaults;
    struct broker_client *client = calloc(1, sizeof(*client));
    const char *munge_socket;
    int error;

    if (!client)
        return -ENOMEM;
    *out = client;
    options = options ? options : &defaults;
    client->timeout_ms = options->timeout_ms ? options->timeout_ms : 10000;
    munge_socket = options->munge_socket ? options->munge_socket
                                         : secure_getenv("RGPU_MUNGE_SOCKET");
    client->munge_socket = munge_socket && *munge_socket ? strdup(munge_socket) : NULL;
    client->broker_user = find_broker_user(options->broker_user);
    if (!client->broker_user)
        return broker_client_explain(client, -EINVAL, "no memory");
    error = set_address(client, options->address);
    return error ? error : load_key(client, options->key_file);
}

void broker_client_close(struct broker_client **pointer)
{
    struct broker_client *client = *pointer;

    if (!client)
        return;
    free(client->address);
    free(client->addresses);
    free(client->munge_socket);
    free(client->broker_user);
    explicit_bzero(client, sizeof(*client));
    free(client);
    *pointer = NULL;
}

// ---- authentication ----

static int authorize_key(struct broker_client *client, const char *text, const char *body_digest,
                         char **header)
{
    struct api_signature signature = {.time = time(NULL)};
    uint8_t nonce[(API_NONCE_TEXT - 1) / 2];
    char line[160];

    if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
        return broker_client_explain(client, -EIO, "no random numbers");
    hex_encode(nonce, sizeof(nonce), signature.nonce);
    strcpy(client->nonce, signature.nonce);
    strcpy(signature.key, client->key.id);
    api_sign(client->key.secret, text, &signature);
    api_signature_print(&signature, line);
    memcpy(client->secret, client->key.secret, sizeof(client->secret));
    client->is_signed = true;
    return asprintf(header, "Authorization: Rgpu %s\r\nContent-SHA256: %s\r\n", line, body_digest) <
                   0
               ? -ENOMEM
               : 0;
}

// Threads of a daemon may look for users at the same time.
static int find_uid(struct broker_client *client, uid_t *uid)
{
    struct passwd found, *entry = NULL;
    char text[4096], *end;
    unsigned long number = strtoul(client->broker_user, &end, 10);

    if (getpwnam_r(client->broker_user, &found, text, sizeof(text), &entry))
        entry = NULL;
    if (!entry && (end == client->broker_user || *end))
        return broker_client_explain(
            client, -EINVAL,
            "the broker's user %s is not known here: set "
            "broker_user (RGPU_BROKER_USER, or the second word of " BROKER_ADDRESS_FILE
            ") to its number at the broker",
            client->broker_user);
    *uid = entry ? entry->pw_uid : (uid_t)number;
    return 0;
}

// Seals the description of the request, and a secret for its answer, for the broker alone.
static munge_err_t seal_request(struct broker_client *client, munge_ctx_t context, uid_t broker,
                                const char *text, char **credential)
{
    char digest[API_DIGEST_TEXT], secret[API_DIGEST_TEXT], payload[2 * API_DIGEST_TEXT];
    munge_err_t code;

    if (client->munge_socket)
        munge_ctx_set(context, MUNGE_OPT_SOCKET, client->munge_socket);
    munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, broker);
    munge_ctx_set(context, MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128);
    api_digest(text, strlen(text), digest);
    hex_encode(client->secret, sizeof(client->secret), secret);
    snprintf(payload, sizeof(payload), "%s %s", digest, secret);
    code = munge_encode(credential, context, payload, (int)strlen(payload));
    explicit_bzero(payload, sizeof(payload));
    explicit_bzero(secret, sizeof(secret));
    return code;
}

static int authorize_munge(struct broker_client *client, const char *text, const char *body_digest,
                           char **header)
{
    munge_ctx_t context;
    char *credential = NULL;
    uid_t broker = (uid_t)-1;
    int error = find_uid(client, &broker);

    if (error)
        return client->may_look ? 0 : error;
    if (getrandom(client->secret, sizeof(client->secret), 0) != sizeof(client->secret))
        return broker_client_explain(client, -EIO, "no random numbers");
    context = munge_ctx_create();
    if (!context)
        return -ENOMEM;
    if (seal_request(client, context, broker, text, &credential) != EMUNGE_SUCCESS) {
        broker_client_explain(client, 0,
                              "munge: %s; run munged on this host, or name a shared key "
                              "(RGPU_BROKER_KEY, rgpuctl's --key)",
                              munge_ctx_strerror(context));
    } else {
        client->is_signed = true;
        strcpy(client->nonce, API_MUNGE_NONCE);
        error = asprintf(header, "Authorization: Munge %s\r\nContent-SHA256: %s\r\n", credential,
                         body_digest) < 0
                    ? -ENOMEM
                    : 0;
    }
    munge_ctx_destroy(context);
    free(credential);
    return error;
}

// Over a unix socket the kernel reports the user. Without munge the request goes unsigned, which is
// enough for queries if the broker allows anonymous ones. broker_client_error() then returns the
// reason.
static int authorize(struct broker_client *client, const char *method, const char *path,
                     const char *body, char **header)
{
    char digest[API_DIGEST_TEXT];

    client->is_signed = false;
    if (client->endpoint.is_unix)
        return 0;
    api_digest(body, strlen(body), digest);
    SCOPED_FREE char *text = api_signed_text(method, path, digest);
    if (!text)
        return -ENOMEM;
    return client->has_key ? authorize_key(client, text, digest, header)
                           : authorize_munge(client, text, digest, header);
}

// ---- calling ----

static int broker_client_explain_failure(struct broker_client *client, int error)
{
    switch (error) {
    case -ENOMEM: return error;
    case -ETIMEDOUT:
        return broker_client_explain(client, error, "the broker at %s does not answer in time",
                                     client->address);
    case -EHOSTUNREACH:
        return broker_client_explain(client, error,
                                     "the host of the broker at %s is not known or "
                                     "not reachable",
                                     client->address);
    case -ECONNREFUSED:
    case -ENOENT:
    case -EACCES:
    case -ENETUNREACH:
        return broker_client_explain(client, -ECONNREFUSED,
                                     "no broker answers at %s; is rgpu-brokerd running there?",
                                     client->address);
    }
    return broker_client_explain(client, -EPROTO, "the broker at %s: %s", client->address,
                                 error == -EPROTO ? "the connection ended without an answer"
                                                  : strerror(-error));
}

static int refusal_errno(long status, const char *code)
{
    if (!strcmp(code, "busy"))
        return -EAGAIN;
    // A broker that does not lead is as good as none.
    if (!strcmp(code, "waiting") || !strcmp(code, "no-majority"))
        return -ECONNREFUSED;
    switch (status) {
    case 400: return -EINVAL;
    case 401: return -EACCES;
    case 403: return -EPERM;
    case 404: return -ENOENT;
    case 409: return -EEXIST;
    case 410: return -ESTALE;
    case 422: return -E2BIG;
    }
    return -EREMOTEIO;
}

// ---- secrets in answers, which over TCP are sealed for us ----

// Replaces "sealed_NAME" by NAME.
static int unseal(struct broker_client *client, json_t *answer, const char *name)
{
    char member[64], *text;
    const char *sealed;
    int error;

    snprintf(member, sizeof(member), "sealed_%s", name);
    sealed = json_string_value(json_object_get(answer, member));
    if (!sealed)
        return 0;
    error = seal_open(client->secret, client->nonce, sealed, &text);
    if (error == -EBADMSG)
        return broker_client_explain(client, -EPROTO,
                                     "the broker's secret was not made for this request");
    if (error)
        return error;
    error = json_object_set_new(answer, name, json_string(text)) ? -ENOMEM : 0;
    explicit_bzero(text, strlen(text));
    free(text);
    json_object_del(answer, member);
    return error;
}

// An answer that nothing proves has no ticket that could be believed.
static int take_secrets(struct broker_client *client, json_t *answer)
{
    static const char *const names[] = {"ticket", "keys"};
    int error = 0;

    for (size_t i = 0; !error && i < sizeof(names) / sizeof(names[0]); i++) {
        if (client->is_signed)
            error = unseal(client, answer, names[i]);
        else if (!client->endpoint.is_unix)
            json_object_del(answer, names[i]);
    }
    return error;
}

// An answer without proof may come from anybody, so it counts neither as a refusal nor as a grant.
// Only "the credentials are wrong" (401) comes without: the broker then shares no secret with the
// asker by which it could prove anything.
static int check_proof(struct broker_client *client, const struct http_answer *got)
{
    if (client->endpoint.is_unix || got->status == 401)
        return 0;
    if (!client->is_signed)
        return got->status < 300 && !client->may_look ? -EACCES : 0;
    if (api_is_proven(client->secret, client->nonce, got->status, got->body, got->size, got->proof))
        return 0;
    return broker_client_explain(client, -EPROTO,
                                 "what answers at %s does not prove that it is the "
                                 "broker: its key or its user (broker_user) is another",
                                 client->address);
}

static int broker_client_read_answer(struct broker_client *client, const struct http_answer *got,
                                     json_t **answer)
{
    json_t *object;
    int status = got->status, unproven = check_proof(client, got);
    const char *code, *message;

    if (unproven)
        return unproven;
    object = json_loadb(got->body, got->size, 0, NULL);

    if (status < 300 && object) {
        int error = take_secrets(client, object);
        if (error) {
            json_decref(object);
            return error;
        }
        if (answer)
            *answer = object;
        else
            json_decref(object);
        return 0;
    }
    code = json_string_value(json_object_get(json_object_get(object, "error"), "code"));
    message = json_string_value(json_object_get(json_object_get(object, "error"), "message"));
    snprintf(client->code, sizeof(client->code), "%s", code ? code : "");
    // If the broker refuses an unsigned request, the reason is the missing signature.
    if (status != 401 || client->is_signed || client->endpoint.is_unix)
        broker_client_explain(client, 0, "%s",
                              message ? message : "the broker's answer is not understood");
    json_decref(object);
    return status < 300 ? -EPROTO : refusal_errno(status, client->code);
}

static int perform_once(struct broker_client *client, unsigned timeout_ms, const char *method,
                        const char *path, const char *body, json_t **answer)
{
    struct http_request request = {.method = method, .path = path, .body = body};
    struct http_answer got = {0};
    SCOPED_FREE char *header = NULL;

    client->may_look = !strcmp(method, "GET");
    int error = authorize(client, method, path, body, &header);
    if (error)
        return error;
    request.host = client->endpoint.is_unix ? "broker" : client->address;
    request.headers = header ? header : "";
    error = http_exchange(&client->endpoint, timeout_ms, &request, &got);
    error = error ? broker_client_explain_failure(client, error)
                  : broker_client_read_answer(client, &got, answer);
    if (got.body)
        explicit_bzero(got.body, got.size);
    free(got.body);
    return error;
}

// A broker that was not reached has not received the request, so each other one may be asked once.
static int perform(struct broker_client *client, unsigned timeout_ms, const char *method,
                   const char *path, const char *body, json_t **answer)
{
    size_t first = client->address_at;
    int error;

    do
        error = perform_once(client, timeout_ms, method, path, body, answer);
    while ((error == -ECONNREFUSED || error == -EHOSTUNREACH) && try_next(client) &&
           client->address_at != first);
    return error;
}

int broker_client_call_for(struct broker_client *client, unsigned timeout_ms, const char *method,
                           const char *path, const json_t *body, json_t **answer)
{
    SCOPED_FREE char *text = body ? json_dumps(body, JSON_COMPACT) : strdup("");
    int error;

    client->code[0] = client->error[0] = '\0';
    if (!text)
        return broker_client_explain(client, -ENOMEM, "no memory");
    error = perform(client, timeout_ms, method, path, text, answer);
    if (error == -EACCES && !strcmp(client->code, "restarted")) {
        // A broker refuses signatures that are not younger than its own start, in seconds. The next
        // second's is.
        struct timespec pause = {.tv_sec = 1};
        nanosleep(&pause, NULL);
        error = perform(client, timeout_ms, method, path, text, answer);
    }
    if (error && !*client->error)
        broker_client_explain(client, error, "%s", strerror(-error));
    return error;
}

int broker_client_call(struct broker_client *client, const char *method, const char *path,
                       const json_t *body, json_t **answer)
{
    return broker_client_call_for(client, client->timeout_ms, method, path, body, answer);
}
