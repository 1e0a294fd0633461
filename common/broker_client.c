/* A blocking client of the broker: addresses, authentication, requests and refusals. */
#include "common/broker_client.h"

#include <errno.h>
#include <munge.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "common/api_auth.h"
#include "common/endpoint.h"
#include "common/http_exchange.h"
#include "common/seal.h"
#include "common/ticket.h"

#define BROKER_PORT 7310

struct broker_client {
    char *address;
    struct endpoint endpoint;
    char *munge_socket;
    struct ticket_key key;
    bool has_key;
    char nonce[API_NONCE_TEXT]; /* of the last signature with the key */
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

const char *broker_client_code(const struct broker_client *client)
{
    return client->code;
}

const char *broker_client_address(const struct broker_client *client)
{
    return client->address ? client->address : "";
}

/* ---- opening ---- */

static char *address_from_file(void)
{
    FILE *file = fopen(BROKER_ADDRESS_FILE, "re");
    char line[256], *found = NULL;

    while (file && !found && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "# \t\r\n")] = '\0';
        if (*line)
            found = strdup(line);
    }
    if (file)
        fclose(file);
    return found;
}

static char *find_address(const char *option)
{
    const char *value = option ? option : getenv("RGPU_BROKER");
    char *address;

    if (value && *value)
        return strdup(value);
    address = address_from_file();
    if (!address && access(BROKER_SOCKET, F_OK) == 0)
        address = strdup("unix:" BROKER_SOCKET);
    return address;
}

static int load_key(struct broker_client *client, const char *option)
{
    const char *path = option ? option : getenv("RGPU_BROKER_KEY");
    struct ticket_keyring ring;
    int error;

    if (!path || !*path)
        return 0;
    error = ticket_keyring_load(path, &ring);
    if (error == -EPERM)
        return broker_client_explain(client, error, "key file %s must be yours, with mode 0600",
                                     path);
    if (error == -EBADMSG)
        return broker_client_explain(client, error, "%s is not a key file: one \"ID HEX64\" line",
                                     path);
    if (error)
        return broker_client_explain(client, error, "key file %s: %s", path, strerror(-error));
    client->key = ring.keys[0];
    client->has_key = true;
    explicit_bzero(&ring, sizeof(ring));
    return 0;
}

static int set_address(struct broker_client *client, const char *option)
{
    client->address = find_address(option);
    if (!client->address)
        return broker_client_explain(client, -ENOENT, "no broker is known: set RGPU_BROKER to "
                                     "host:port or unix:/path, or write it to "
                                     BROKER_ADDRESS_FILE);
    if (endpoint_parse(client->address, BROKER_PORT, &client->endpoint) < 0)
        return broker_client_explain(client, -EINVAL, "%s is no address of a broker: host:port or "
                                     "unix:/path", client->address);
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
    munge_socket = options->munge_socket ? options->munge_socket : getenv("RGPU_MUNGE_SOCKET");
    client->munge_socket = munge_socket && *munge_socket ? strdup(munge_socket) : NULL;
    error = set_address(client, options->address);
    return error ? error : load_key(client, options->key_file);
}

void broker_client_close(struct broker_client **pointer)
{
    struct broker_client *client = *pointer;

    if (!client)
        return;
    free(client->address);
    free(client->munge_socket);
    explicit_bzero(client, sizeof(*client));
    free(client);
    *pointer = NULL;
}

/* ---- authentication ---- */

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
    return asprintf(header, "Authorization: Rgpu %s\r\nContent-SHA256: %s\r\n", line,
                    body_digest) < 0 ? -ENOMEM : 0;
}

static int authorize_munge(struct broker_client *client, const char *text, const char *body_digest,
                           char **header)
{
    munge_ctx_t context = munge_ctx_create();
    char digest[API_DIGEST_TEXT], *credential = NULL;
    munge_err_t code;
    int error = 0;

    if (!context)
        return -ENOMEM;
    if (client->munge_socket)
        munge_ctx_set(context, MUNGE_OPT_SOCKET, client->munge_socket);
    api_digest(text, strlen(text), digest);
    code = munge_encode(&credential, context, digest, (int)strlen(digest));
    if (code == EMUNGE_SUCCESS)
        error = asprintf(header, "Authorization: Munge %s\r\nContent-SHA256: %s\r\n", credential,
                         body_digest) < 0 ? -ENOMEM : 0;
    munge_ctx_destroy(context);
    free(credential);
    return error;
}

/* Over a unix socket the kernel tells who we are. Without munge the request goes unsigned; the
 * broker says so where that is not enough. */
static int authorize(struct broker_client *client, const char *method, const char *path,
                     const char *body, char **header)
{
    char digest[API_DIGEST_TEXT], *text;
    int error;

    if (client->endpoint.is_unix)
        return 0;
    api_digest(body, strlen(body), digest);
    text = api_signed_text(method, path, digest);
    if (!text)
        return -ENOMEM;
    error = client->has_key ? authorize_key(client, text, digest, header)
                            : authorize_munge(client, text, digest, header);
    free(text);
    return error;
}

/* ---- calling ---- */

static int explain_failure(struct broker_client *client, int error)
{
    switch (error) {
    case -ENOMEM:
        return error;
    case -ETIMEDOUT:
        return broker_client_explain(client, error, "the broker at %s does not answer in time",
                                     client->address);
    case -EHOSTUNREACH:
        return broker_client_explain(client, error, "the host of the broker at %s is not known or "
                                     "not reachable", client->address);
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

/* ---- secrets in answers, which over TCP are sealed for us ---- */

static int open_munge(struct broker_client *client, const char *sealed, char **text)
{
    munge_ctx_t context = munge_ctx_create();
    void *payload = NULL;
    int size = 0;
    munge_err_t code;

    if (!context)
        return -ENOMEM;
    if (client->munge_socket)
        munge_ctx_set(context, MUNGE_OPT_SOCKET, client->munge_socket);
    code = munge_decode(sealed, context, &payload, &size, NULL, NULL);
    munge_ctx_destroy(context);
    *text = code == EMUNGE_SUCCESS ? strndup(payload, (size_t)size) : NULL;
    if (payload)
        explicit_bzero(payload, (size_t)size);
    free(payload);
    if (code != EMUNGE_SUCCESS)
        return broker_client_explain(client, -EPROTO, "the broker's secret cannot be read: %s",
                                     munge_strerror(code));
    return *text ? 0 : -ENOMEM;
}

/* Replaces "sealed_NAME" by NAME. */
static int unseal(struct broker_client *client, json_t *answer, const char *name)
{
    char member[64], *text;
    const char *sealed;
    int error;

    snprintf(member, sizeof(member), "sealed_%s", name);
    sealed = json_string_value(json_object_get(answer, member));
    if (!sealed)
        return 0;
    error = client->has_key ? seal_open(client->key.secret, client->nonce, sealed, &text)
                            : open_munge(client, sealed, &text);
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

static int unseal_all(struct broker_client *client, json_t *answer)
{
    int error = unseal(client, answer, "ticket");

    return error ? error : unseal(client, answer, "keys");
}

static int read_answer(struct broker_client *client, const struct http_answer *got,
                       json_t **answer)
{
    json_t *object = json_loadb(got->body, got->size, 0, NULL);
    int status = got->status;
    const char *code, *message;

    if (status < 300 && object) {
        int error = unseal_all(client, object);
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
    broker_client_explain(client, 0, "%s",
                          message ? message : "the broker's answer is not understood");
    json_decref(object);
    return status < 300 ? -EPROTO : refusal_errno(status, client->code);
}

static int perform(struct broker_client *client, unsigned timeout_ms, const char *method,
                   const char *path, const char *body, json_t **answer)
{
    struct http_request request = {.method = method, .path = path, .body = body};
    struct http_answer got = {0};
    char *header = NULL;
    int error = authorize(client, method, path, body, &header);

    if (error)
        return error;
    request.host = client->endpoint.is_unix ? "broker" : client->address;
    request.headers = header ? header : "";
    error = http_exchange(&client->endpoint, timeout_ms, &request, &got);
    error = error ? explain_failure(client, error) : read_answer(client, &got, answer);
    if (got.body)
        explicit_bzero(got.body, got.size);
    free(got.body);
    free(header);
    return error;
}

int broker_client_call_for(struct broker_client *client, unsigned timeout_ms, const char *method,
                           const char *path, const json_t *body, json_t **answer)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : strdup("");
    int error;

    client->code[0] = client->error[0] = '\0';
    if (!text)
        return broker_client_explain(client, -ENOMEM, "no memory");
    error = perform(client, timeout_ms, method, path, text, answer);
    if (error == -EACCES && !strcmp(client->code, "restarted")) {
        /* A broker takes no signature from before its own start: one of the next second will do. */
        struct timespec pause = {.tv_sec = 1};
        nanosleep(&pause, NULL);
        error = perform(client, timeout_ms, method, path, text, answer);
    }
    free(text);
    if (error && !*client->error)
        broker_client_explain(client, error, "%s", strerror(-error));
    return error;
}

int broker_client_call(struct broker_client *client, const char *method, const char *path,
                       const json_t *body, json_t **answer)
{
    return broker_client_call_for(client, client->timeout_ms, method, path, body, answer);
}
