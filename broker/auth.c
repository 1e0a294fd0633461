/* Authentication of requests: peer credentials, munge, shared keys. */
#include "broker/auth.h"

#include <errno.h>
#include <pwd.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "broker/core.h"
#include "broker/munge_pool.h"
#include "common/api_auth.h"
#include "common/log_limit.h"
#include "common/seal.h"
#include "common/ticket.h"

#define USERS_MAX 64

static struct log_limit munge_lines = LOG_LIMIT(5, 60);

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
    struct munge_pool *munge;
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

/* Once at start the broker waits for munged, to say at once where it is not there. */
static int start_munge(const struct settings *settings, struct event_base *base, struct auth *auth)
{
    char *credential = NULL;
    munge_ctx_t context;

    if (settings->munge == MUNGE_NO)
        return 0;
    context = munge_ctx_create();
    if (!context)
        return -ENOMEM;
    if (settings->munge_socket && *settings->munge_socket)
        munge_ctx_set(context, MUNGE_OPT_SOCKET, settings->munge_socket);
    if (munge_encode(&credential, context, NULL, 0) == EMUNGE_SUCCESS) {
        free(credential);
        auth->munge = munge_pool_new(base, context);
        return auth->munge ? 0 : -ENOMEM;
    }
    if (settings->munge == MUNGE_YES)
        log_error("munge: %s; start munged, or set munge = no", munge_ctx_strerror(context));
    else
        log_info("munge is not there: %s", munge_ctx_strerror(context));
    munge_ctx_destroy(context);
    return settings->munge == MUNGE_YES ? -ENOTCONN : 0;
}

int auth_new(const struct settings *settings, struct event_base *base, struct auth **out)
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
    error = start_munge(settings, base, auth);
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
    munge_pool_free(&auth->munge);
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

/* ---- what was signed ---- */

/* NULL: no memory, or a body of which nothing is said. */
static char *signed_text(const struct auth_request *request)
{
    char empty[API_DIGEST_TEXT];
    const char *digest = request->body_digest;

    if (!digest) {
        if (request->has_body)
            return NULL;
        api_digest("", 0, empty);
        digest = empty;
    }
    return api_signed_text(request->method, request->target, digest);
}

/* ---- munge ---- */

struct auth_job {
    struct auth *auth;
    struct munge_job *munge;
    struct auth_job **self; /* where the asker keeps it */
    char digest[API_DIGEST_TEXT]; /* what the credential must say */
    auth_done done;
    auth_sealed sealed;
    void *context;
};

static void job_end(struct auth_job *job)
{
    *job->self = NULL;
    munge_job_cancel(&job->munge);
    free(job);
}

void auth_cancel(struct auth_job **job)
{
    if (*job)
        job_end(*job);
}

static void on_decoded(void *context, const struct munge_result *result)
{
    struct auth_job job = *(struct auth_job *)context;
    struct identity who = {.name = "nobody"};
    const char *why = "";
    int error = 0;

    ((struct auth_job *)context)->munge = NULL;
    job_end(context);
    if (result->code != EMUNGE_SUCCESS) {
        why = munge_strerror(result->code);
        error = -EACCES;
    } else if (result->size != strlen(job.digest) ||
               !secret_equal(result->text, job.digest, result->size)) {
        why = "the credential was made for another request";
        error = -EACCES;
    } else {
        identify_user(job.auth, result->uid, &who);
    }
    job.done(job.context, error, &who, why);
}

static struct auth_job *job_new(struct auth *auth, void *context, struct auth_job **self)
{
    struct auth_job *job = calloc(1, sizeof(*job));

    if (job)
        *job = (struct auth_job){.auth = auth, .context = context, .self = self};
    return job;
}

/* -EINPROGRESS: it will be told. */
static int ask_munge(struct auth *auth, const char *credential, const char *text, auth_done done,
                     void *context, struct auth_job **self)
{
    struct auth_job *job = job_new(auth, context, self);

    if (!job)
        return -ENOMEM;
    job->done = done;
    api_digest(text, strlen(text), job->digest);
    job->munge = munge_pool_decode(auth->munge, credential, on_decoded, job);
    if (!job->munge) {
        free(job);
        return -EBUSY;
    }
    *self = job;
    return -EINPROGRESS;
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

static int check_key(struct auth *auth, const char *value, const char *text, struct identity *who,
                     const char **why)
{
    struct api_signature given, expected;
    int64_t now = broker_wall();
    const struct ticket_key *key;

    *why = "the signature is wrong";
    if (api_signature_parse(value, &given) < 0)
        return -EACCES;
    key = find_key(auth, given.key, now);
    if (!key)
        return -EACCES;
    expected = given;
    api_sign(key->secret, text, &expected);
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

static int check(struct auth *auth, const struct auth_request *request, auth_done done,
                 void *context, struct auth_job **job, struct identity *who, const char **why)
{
    const char *value = request->authorization;
    bool munge = value && !strncmp(value, "Munge ", 6);
    char *text;
    int error;

    *why = "unknown kind of credentials";
    if (!munge && strncmp(value, "Rgpu ", 5))
        return -EACCES;
    *why = "munge is not in use here";
    if (munge && !auth->munge)
        return -EACCES;
    *why = "a signed request with a body gives its SHA-256 in the header Content-SHA256";
    if (request->has_body && !request->body_digest)
        return -EACCES;
    text = signed_text(request);
    if (!text)
        return -ENOMEM;
    error = munge ? ask_munge(auth, value + 6, text, done, context, job)
                  : check_key(auth, value + 5, text, who, why);
    free(text);
    return error;
}

void auth_check(struct auth *auth, const struct auth_request *request, auth_done done,
                void *context, struct auth_job **job)
{
    struct identity who = {.name = "nobody"};
    const char *why = "";
    int error = 0;

    *job = NULL;
    if (request->local) {
        identify_user(auth, request->uid, &who);
        who.local = true;
    } else if (request->authorization) {
        error = check(auth, request, done, context, job, &who, &why);
    }
    if (error != -EINPROGRESS)
        done(context, error, &who, why);
}

/* ---- secrets in answers ---- */

static void on_encoded(void *context, const struct munge_result *result)
{
    struct auth_job job = *(struct auth_job *)context;
    char *sealed = NULL;

    ((struct auth_job *)context)->munge = NULL;
    job_end(context);
    if (result->code == EMUNGE_SUCCESS)
        sealed = strndup(result->text, result->size);
    else
        log_limited(&munge_lines, LOG_LEVEL_ERROR, "munge: %s", munge_strerror(result->code));
    job.sealed(job.context, sealed ? 0 : -EIO, sealed);
    free(sealed);
}

static int seal_by_munge(struct auth *auth, uid_t uid, const char *text, auth_sealed done,
                         void *context, struct auth_job **self)
{
    struct auth_job *job = job_new(auth, context, self);

    if (!job)
        return -ENOMEM;
    job->sealed = done;
    job->munge = munge_pool_encode(auth->munge, uid, text, on_encoded, job);
    if (!job->munge) {
        free(job);
        return -EBUSY;
    }
    *self = job;
    return -EINPROGRESS;
}

void auth_seal(struct auth *auth, const struct identity *who, const char *text, auth_sealed done,
               void *context, struct auth_job **job)
{
    char *sealed = NULL;
    int error = -EACCES;

    *job = NULL;
    if (who->key)
        error = seal_text(who->key->secret, who->nonce, text, &sealed);
    else if (auth->munge && who->has_uid)
        error = seal_by_munge(auth, who->uid, text, done, context, job);
    if (error != -EINPROGRESS)
        done(context, error, sealed);
    free(sealed);
}
