/* Authentication of requests: peer credentials, munge, shared keys. */
#include "broker/auth.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <munge.h>
#include <pwd.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>

#include "broker/core.h"
#include "common/api_auth.h"
#include "common/log.h"
#include "common/seal.h"
#include "common/ticket.h"

#define USERS_MAX 64

struct user_list {
    uid_t uids[USERS_MAX];
    size_t count;
};

/* A nonce that was used, kept until its request would be too old anyway. */
struct used_nonce {
    TAILQ_ENTRY(used_nonce) order;
    char nonce[API_NONCE_TEXT];
    int64_t until;
};

TAILQ_HEAD(nonce_list, used_nonce);

struct auth {
    struct user_list admins, schedulers, boxes;
    struct ticket_keyring keys;
    munge_ctx_t munge;
    int64_t skew, started;
    void *nonces;
    struct nonce_list order;
};

static int compare_nonces(const void *a, const void *b)
{
    return strcmp(((const struct used_nonce *)a)->nonce, ((const struct used_nonce *)b)->nonce);
}

static void resolve(char **names, struct user_list *list)
{
    for (; *names && list->count < USERS_MAX; names++) {
        const struct passwd *entry = getpwnam(*names);
        char *end;
        unsigned long number = strtoul(*names, &end, 10);

        if (entry)
            list->uids[list->count++] = entry->pw_uid;
        else if (**names && !*end)
            list->uids[list->count++] = (uid_t)number;
        else
            log_info("user=%s is not known here: no role for it", *names);
    }
}

static bool has_user(const struct user_list *list, uid_t uid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->uids[i] == uid)
            return true;
    return false;
}

static int start_munge(const struct settings *settings, struct auth *auth)
{
    char *credential = NULL;

    if (settings->munge == MUNGE_NO)
        return 0;
    auth->munge = munge_ctx_create();
    if (!auth->munge)
        return -ENOMEM;
    if (settings->munge_socket && *settings->munge_socket)
        munge_ctx_set(auth->munge, MUNGE_OPT_SOCKET, settings->munge_socket);
    if (munge_encode(&credential, auth->munge, NULL, 0) == EMUNGE_SUCCESS) {
        free(credential);
        return 0;
    }
    if (settings->munge == MUNGE_YES) {
        log_error("munge: %s; start munged, or set munge = no", munge_ctx_strerror(auth->munge));
        return -ENOTCONN;
    }
    log_info("munge is not there: %s", munge_ctx_strerror(auth->munge));
    munge_ctx_destroy(auth->munge);
    auth->munge = NULL;
    return 0;
}

int auth_new(const struct settings *settings, struct auth **out)
{
    struct auth *auth = calloc(1, sizeof(*auth));
    int error;

    if (!auth)
        return -ENOMEM;
    TAILQ_INIT(&auth->order);
    auth->skew = (int64_t)(settings->clock_skew / 1000000);
    auth->started = broker_wall();
    resolve(settings->admins, &auth->admins);
    resolve(settings->schedulers, &auth->schedulers);
    resolve(settings->boxes, &auth->boxes);
    error = start_munge(settings, auth);
    if (!error && settings->key_file && *settings->key_file) {
        error = ticket_keyring_load(settings->key_file, &auth->keys);
        if (error)
            log_error("key_file=%s: %s", settings->key_file,
                      error == -EPERM ? "must be a file of ours with mode 0600" :
                      error == -EBADMSG ? "not a key file: one \"ID HEX64\" per line" :
                      strerror(-error));
    }
    if (error)
        auth_free(&auth);
    else
        *out = auth;
    return error;
}

void auth_free(struct auth **pointer)
{
    struct auth *auth = *pointer;
    struct used_nonce *nonce;

    if (!auth)
        return;
    while ((nonce = TAILQ_FIRST(&auth->order))) {
        TAILQ_REMOVE(&auth->order, nonce, order);
        tdelete(nonce, &auth->nonces, compare_nonces);
        free(nonce);
    }
    if (auth->munge)
        munge_ctx_destroy(auth->munge);
    explicit_bzero(auth, sizeof(*auth));
    free(auth);
    *pointer = NULL;
}

static void identify_user(const struct auth *auth, uid_t uid, struct identity *who)
{
    who->known = who->has_uid = true;
    who->uid = uid;
    who->admin = has_user(&auth->admins, uid);
    who->scheduler = who->admin || has_user(&auth->schedulers, uid);
    who->box = has_user(&auth->boxes, uid);
    snprintf(who->name, sizeof(who->name), "%s uid=%u",
             who->admin ? "admin" : who->scheduler ? "scheduler" : who->box ? "box" : "user", uid);
}

static int check_socket(struct auth *auth, int fd, struct identity *who)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return -errno;
    identify_user(auth, peer.uid, who);
    who->local = true;
    return 0;
}

/* ---- what was signed ---- */

static const char *method_name(enum evhttp_cmd_type method)
{
    return method == EVHTTP_REQ_GET ? "GET" : method == EVHTTP_REQ_POST ? "POST"
         : method == EVHTTP_REQ_PUT ? "PUT" : method == EVHTTP_REQ_DELETE ? "DELETE" : "OTHER";
}

static int signed_text(struct evhttp_request *request, char **text)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    size_t size = evbuffer_get_length(body);
    const unsigned char *bytes = size ? evbuffer_pullup(body, -1) : (const unsigned char *)"";

    *text = bytes ? api_signed_text(method_name(evhttp_request_get_command(request)),
                                    evhttp_request_get_uri(request), bytes, size)
                  : NULL;
    return *text ? 0 : -ENOMEM;
}

/* ---- munge ---- */

static int check_munge(struct auth *auth, struct evhttp_request *request, const char *credential,
                       struct identity *who, const char **why)
{
    char *text, digest[2 * SHA256_SIZE + 1];
    void *payload = NULL;
    int size = 0;
    uid_t uid;
    munge_err_t code;
    bool matches;

    if (!auth->munge) {
        *why = "munge is not in use here";
        return -EACCES;
    }
    code = munge_decode(credential, auth->munge, &payload, &size, &uid, NULL);
    if (code != EMUNGE_SUCCESS) {
        *why = munge_strerror(code);
        free(payload);
        return -EACCES;
    }
    if (signed_text(request, &text) < 0) {
        free(payload);
        return -ENOMEM;
    }
    api_digest(text, digest);
    matches = size == (int)strlen(digest) && secret_equal(payload, digest, strlen(digest));
    free(text);
    free(payload);
    if (!matches) {
        *why = "the credential was made for another request";
        return -EACCES;
    }
    identify_user(auth, uid, who);
    return 0;
}

/* ---- shared keys ---- */

static bool use_nonce(struct auth *auth, const char *text, int64_t now)
{
    struct used_nonce *nonce, *oldest;

    while ((oldest = TAILQ_FIRST(&auth->order)) && oldest->until < now) {
        TAILQ_REMOVE(&auth->order, oldest, order);
        tdelete(oldest, &auth->nonces, compare_nonces);
        free(oldest);
    }
    nonce = calloc(1, sizeof(*nonce));
    if (!nonce)
        return false;
    strcpy(nonce->nonce, text);
    nonce->until = now + 2 * auth->skew + 1;
    if (tfind(nonce, &auth->nonces, compare_nonces) ||
        !tsearch(nonce, &auth->nonces, compare_nonces)) {
        free(nonce);
        return false;
    }
    TAILQ_INSERT_TAIL(&auth->order, nonce, order);
    return true;
}

static const struct ticket_key *find_key(const struct auth *auth, const char *id, int64_t now)
{
    for (size_t i = 0; i < auth->keys.count; i++)
        if (!strcmp(auth->keys.keys[i].id, id))
            return auth->keys.keys[i].until && auth->keys.keys[i].until <= now
                       ? NULL : &auth->keys.keys[i];
    return NULL;
}

/* "box.gpu01" is a box that may only speak for gpu01; what follows "admin." or "scheduler." only
 * tells keys apart. */
static bool identify_key(const char *id, struct identity *who)
{
    size_t size = strcspn(id, ".");
    const char *rest = id[size] ? id + size + 1 : "";

    who->admin = size == 5 && !strncmp(id, "admin", size);
    who->scheduler = who->admin || (size == 9 && !strncmp(id, "scheduler", size));
    who->box = size == 3 && !strncmp(id, "box", size);
    who->known = who->admin || who->scheduler || who->box;
    snprintf(who->name, sizeof(who->name), "key %s", id);
    if (who->box)
        snprintf(who->box_name, sizeof(who->box_name), "%s", rest);
    return who->known;
}

static int check_key(struct auth *auth, struct evhttp_request *request, const char *value,
                     struct identity *who, const char **why)
{
    struct api_signature given, expected;
    int64_t now = broker_wall();
    const struct ticket_key *key;
    char *text;

    *why = "the signature is wrong";
    if (api_signature_parse(value, &given) < 0)
        return -EACCES;
    key = find_key(auth, given.key, now);
    if (!key)
        return -EACCES;
    if (signed_text(request, &text) < 0)
        return -ENOMEM;
    expected = given;
    api_sign(key->secret, text, &expected);
    free(text);
    if (!secret_equal(given.mac, expected.mac, sizeof(given.mac)))
        return -EACCES;
    if (given.time < now - auth->skew || given.time > now + auth->skew) {
        *why = "the request's time is too far from the broker's; compare the clocks";
        return -EACCES;
    }
    /* What was used before a restart is not remembered, so nothing from before it is taken. */
    if (given.time <= auth->started) {
        *why = "the request is older than the broker; send it anew";
        return -EAGAIN;
    }
    if (!use_nonce(auth, given.nonce, now)) {
        *why = "the request was sent before";
        return -EACCES;
    }
    if (!identify_key(key->id, who)) {
        *why = "the key's id names no role";
        return -EACCES;
    }
    who->key = key;
    strcpy(who->nonce, given.nonce);
    return 0;
}

int auth_check(struct auth *auth, struct evhttp_request *request, struct identity *who,
               const char **why)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
    const char *value =
        evhttp_find_header(evhttp_request_get_input_headers(request), "Authorization");
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);

    memset(who, 0, sizeof(*who));
    strcpy(who->name, "nobody");
    *why = "";
    if (getsockname(fd, (struct sockaddr *)&address, &size) == 0 && address.ss_family == AF_UNIX)
        return check_socket(auth, fd, who);
    if (!value)
        return 0;
    if (!strncmp(value, "Munge ", 6))
        return check_munge(auth, request, value + 6, who, why);
    if (!strncmp(value, "Rgpu ", 5))
        return check_key(auth, request, value + 5, who, why);
    *why = "unknown kind of credentials";
    return -EACCES;
}

/* ---- secrets in answers ---- */

static int seal_by_munge(struct auth *auth, uid_t uid, const char *text, char **sealed)
{
    munge_ctx_t context = munge_ctx_copy(auth->munge);
    munge_err_t code;

    if (!context)
        return -ENOMEM;
    munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, uid);
    munge_ctx_set(context, MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128);
    code = munge_encode(sealed, context, text, (int)strlen(text));
    munge_ctx_destroy(context);
    if (code == EMUNGE_SUCCESS)
        return 0;
    log_error("munge: %s", munge_strerror(code));
    return -EIO;
}

int auth_put_secret(struct auth *auth, const struct identity *who, json_t *answer,
                    const char *name, const char *text)
{
    char *sealed = NULL, member[64];
    int error;

    if (who->local)
        return json_object_set_new(answer, name, json_string(text)) ? -ENOMEM : 0;
    if (who->key)
        error = seal_text(who->key->secret, who->nonce, text, &sealed);
    else if (auth->munge && who->has_uid)
        error = seal_by_munge(auth, who->uid, text, &sealed);
    else
        error = -EACCES;
    if (error)
        return error;
    snprintf(member, sizeof(member), "sealed_%s", name);
    error = json_object_set_new(answer, member, json_string(sealed)) ? -ENOMEM : 0;
    free(sealed);
    return error;
}
