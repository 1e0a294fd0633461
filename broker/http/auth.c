// SPDX-License-Identifier: BSD-3-Clause
// Authentication of requests: peer credentials, munge, shared keys.
#include "broker/http/auth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "broker/http/auth_members.h"
#include "broker/http/munge_pool.h"
#include "broker/http/nonces.h"
#include "common/base/clock.h"
#include "common/security/api_auth.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/security/seal.h"
#include "common/security/ticket.h"

struct auth {
    struct auth_members members;
    struct munge_pool *munge;
    int64_t skew;
    double started; // by the clock of the host's uptime
    struct nonces nonces;
};

int auth_settings_check(const struct broker_settings *settings)
{
    struct auth_members members = {0};
    int error = auth_members_read(settings, &members);

    explicit_bzero(&members, sizeof(members));
    return error;
}

// The broker queries munged once when it starts, so that the log shows at once if munged does not
// run.
static int start_munge(const struct broker_settings *settings, struct event_base *base,
                       struct auth *auth)
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

int auth_new(const struct broker_settings *settings, struct event_base *base, struct auth **out)
{
    struct auth *auth = calloc(1, sizeof(*auth));
    int error;

    if (!auth)
        return -ENOMEM;
    nonces_init(&auth->nonces);
    auth->skew = (int64_t)(settings->clock_skew / 1000000);
    auth->started = clock_boot_seconds();
    error = auth_members_read(settings, &auth->members);
    if (!error)
        error = start_munge(settings, base, auth);
    if (error)
        auth_free(&auth);
    else
        *out = auth;
    return error;
}

int auth_reload(struct auth *auth, const struct broker_settings *settings)
{
    struct auth_members members = {0};
    int error = auth_members_read(settings, &members);

    if (!error)
        auth->members = members;
    explicit_bzero(&members, sizeof(members));
    return error;
}

void auth_free(struct auth **pointer)
{
    struct auth *auth = *pointer;

    if (!auth)
        return;
    nonces_free(&auth->nonces);
    munge_pool_free(&auth->munge);
    explicit_bzero(auth, sizeof(*auth));
    free(auth);
    *pointer = NULL;
}

static void identify_user(const struct auth *auth, uid_t uid, struct identity *who)
{
    who->known = who->has_uid = true;
    who->uid = uid;
    who->admin = auth_members_has(&auth->members.admins, uid);
    who->scheduler = who->admin || auth_members_has(&auth->members.schedulers, uid);
    snprintf(who->name, sizeof(who->name), "%s uid=%u",
             who->admin       ? "admin"
             : who->scheduler ? "scheduler"
                              : "user",
             uid);
}

// ---- the signed text ----

// NULL: no memory, or the request has a body and does not give its digest.
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

// ---- munge ----

struct auth_job {
    struct auth *auth;
    struct munge_job *munge;
    struct auth_job **self;       // where the asker keeps it
    char digest[API_DIGEST_TEXT]; // required payload of the credential
    auth_done done;
    void *argument;
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

// "DIGEST SECRET", both in hexadecimal.
static bool auth_take_payload(const char *text, size_t size, const char *digest,
                              struct identity *who)
{
    const size_t half = API_DIGEST_TEXT - 1;

    if (size != 2 * half + 1 || text[half] != ' ' || !secret_equal(text, digest, half) ||
        hex_decode(text + half + 1, half, who->secret, sizeof(who->secret)) < 0)
        return false;
    who->has_secret = true;
    strcpy(who->nonce, API_MUNGE_NONCE);
    return true;
}

static const char *explain_munge(munge_err_t code)
{
    switch ((int)code) {
    case EMUNGE_CRED_INVALID:
        return "Invalid credential: the key of munge differs from that of the broker's host";
    case EMUNGE_CRED_UNAUTHORIZED:
        return "Unauthorized credential: the broker runs as another user than broker_user, or the "
               "second word of /etc/rgpu/broker, says";
    case EMUNGE_CRED_EXPIRED:
    case EMUNGE_CRED_REWOUND:
        return "the clocks of this host and of the broker's differ too much for munge";
    default: return munge_strerror(code);
    }
}

static void on_decoded(void *argument, const struct munge_result *result)
{
    struct auth_job job = *(struct auth_job *)argument;
    struct identity who = {.name = "nobody"};
    const char *why = "";
    enum outcome error = OUTCOME_DONE;

    ((struct auth_job *)argument)->munge = NULL;
    job_end(argument);
    if (result->code != EMUNGE_SUCCESS) {
        why = explain_munge(result->code);
        error = OUTCOME_UNAUTHORIZED;
    } else if (!auth_take_payload(result->text, result->size, job.digest, &who)) {
        why = "the credential was made for another request, or holds no secret for the answer";
        error = OUTCOME_UNAUTHORIZED;
    } else {
        identify_user(job.auth, result->uid, &who);
    }
    job.done(job.argument, error, &who, why);
    explicit_bzero(&who, sizeof(who));
}

static struct auth_job *job_new(struct auth *auth, void *argument, struct auth_job **self)
{
    struct auth_job *job = calloc(1, sizeof(*job));

    if (job)
        *job = (struct auth_job){.auth = auth, .argument = argument, .self = self};
    return job;
}

// OUTCOME_DONE: the answer comes later, to `done`.
static enum outcome ask_munge(struct auth *auth, const char *credential, const char *text,
                              auth_done done, void *argument, struct auth_job **self)
{
    struct auth_job *job = job_new(auth, argument, self);

    if (!job)
        return OUTCOME_NO_MEMORY;
    job->done = done;
    api_digest(text, strlen(text), job->digest);
    job->munge = munge_pool_decode(auth->munge, credential, on_decoded, job);
    if (!job->munge) {
        free(job);
        return OUTCOME_MUNGE_SILENT;
    }
    *self = job;
    return OUTCOME_DONE;
}

// ---- shared keys ----

static const struct ticket_key *auth_find_key(const struct ticket_keyring *ring, const char *id)
{
    for (size_t i = 0; i < ring->count; i++)
        if (!strcmp(ring->keys[i].id, id))
            return ring->keys[i].until && ring->keys[i].until <= clock_wall_seconds()
                       ? NULL
                       : &ring->keys[i];
    return NULL;
}

// The rest after "admin." or "scheduler." only distinguishes keys; that after "user." is the owner.
static bool identify_key(const struct auth *auth, const struct ticket_key *key,
                         struct identity *who)
{
    const char *id = key->id;
    size_t size = strcspn(id, ".");

    if (auth_members_user_of(id)) {
        identify_user(auth, auth->members.key_users[key - auth->members.keys.keys], who);
        return true;
    }
    who->admin = size == 5 && !strncmp(id, "admin", size);
    who->scheduler = who->admin || (size == 9 && !strncmp(id, "scheduler", size));
    who->known = who->admin || who->scheduler;
    snprintf(who->name, sizeof(who->name), "key %s", id);
    return who->known;
}

// The second of the start, by the wall's clock as it is now. The clock may have been wrong then.
static int64_t start_second(const struct auth *auth)
{
    double wall = (double)clock_read_ns(CLOCK_REALTIME) * 1e-9;

    return (int64_t)(wall - (clock_boot_seconds() - auth->started) + 0.01);
}

static enum outcome verify(struct auth *auth, const uint8_t secret[SHA256_SIZE],
                           const struct api_signature *given, const char *text,
                           struct identity *who, const char **why)
{
    struct api_signature expected = *given;
    int64_t now = clock_wall_seconds();

    *why = "the signature is wrong";
    api_sign(secret, text, &expected);
    if (!secret_equal(given->mac, expected.mac, sizeof(given->mac)))
        return OUTCOME_UNAUTHORIZED;
    if (given->time < now - auth->skew || given->time > now + auth->skew) {
        *why = "the request's time is too far from the broker's; compare the clocks";
        return OUTCOME_UNAUTHORIZED;
    }
    // The nonces that were used before a restart are forgotten, so a request from before it could
    // be a repeated one: none is accepted.
    if (given->time <= start_second(auth)) {
        *why = "the request is older than the broker; send it anew";
        return OUTCOME_RESTARTED;
    }
    if (!nonces_use(&auth->nonces, given->nonce, 2 * auth->skew + 1)) {
        *why = "the request was sent before";
        return OUTCOME_UNAUTHORIZED;
    }
    who->has_secret = true;
    memcpy(who->secret, secret, sizeof(who->secret));
    strcpy(who->nonce, given->nonce);
    return OUTCOME_DONE;
}

static enum outcome check_key(struct auth *auth, const char *value, const char *text,
                              struct identity *who, const char **why)
{
    const struct ticket_key *key;
    struct api_signature given;
    enum outcome error;

    *why = "the signature is wrong";
    if (api_signature_parse(value, &given) < 0)
        return OUTCOME_UNAUTHORIZED;
    key = auth_find_key(&auth->members.keys, given.key);
    if (!key)
        return OUTCOME_UNAUTHORIZED;
    error = verify(auth, key->secret, &given, text, who, why);
    if (error || identify_key(auth, key, who))
        return error;
    *why = "the key's id names no role";
    return OUTCOME_UNAUTHORIZED;
}

// Finds a key whose id is "metrics" or begins with "metrics.". Keys of other roles never travel.
static enum outcome check_token(const struct auth *auth, const char *value, struct identity *who,
                                const char **why)
{
    uint8_t secret[SHA256_SIZE] = {0};
    bool is_hex = strlen(value) == 2 * sizeof(secret) &&
                  hex_decode(value, 2 * sizeof(secret), secret, sizeof(secret)) >= 0;

    *why = "the token is no key of the role metrics";
    for (size_t i = 0; is_hex && i < auth->members.keys.count; i++) {
        const char *id = auth->members.keys.keys[i].id;
        const struct ticket_key *key = auth_find_key(&auth->members.keys, id);
        if (!key || strncmp(id, "metrics", 7) || (id[7] && id[7] != '.') ||
            !secret_equal(secret, key->secret, sizeof(secret)))
            continue;
        who->known = who->metrics = true;
        snprintf(who->name, sizeof(who->name), "key %s", id);
    }
    explicit_bzero(secret, sizeof(secret));
    return who->known ? OUTCOME_DONE : OUTCOME_UNAUTHORIZED;
}

// A box has its name by its key, which follows from that name and the cluster's key.
static enum outcome auth_check_box(struct auth *auth, const struct ticket_keyring *cluster,
                                   const char *value, const char *text, struct identity *who,
                                   const char **why)
{
    size_t size = strcspn(value, " ");
    const struct ticket_key *key;
    struct ticket_keyring ring;
    struct api_signature given;
    uint8_t secret[SHA256_SIZE];
    enum outcome error;

    *why = "the signature is wrong";
    if (size == 0 || size >= sizeof(who->box_name) || !value[size] ||
        api_signature_parse(value + size + 1, &given) < 0)
        return OUTCOME_UNAUTHORIZED;
    snprintf(who->box_name, sizeof(who->box_name), "%.*s", (int)size, value);
    ticket_keyring_derive(cluster, who->box_name, &ring);
    key = auth_find_key(&ring, given.key);
    error = OUTCOME_UNAUTHORIZED;
    if (key) {
        api_box_secret(key->secret, secret);
        error = verify(auth, secret, &given, text, who, why);
    }
    explicit_bzero(&ring, sizeof(ring));
    explicit_bzero(secret, sizeof(secret));
    if (error)
        return error;
    who->known = who->box = true;
    snprintf(who->name, sizeof(who->name), "box %s", who->box_name);
    return OUTCOME_DONE;
}

static enum outcome check(struct auth *auth, const struct auth_request *request, auth_done done,
                          void *argument, struct auth_job **job, struct identity *who,
                          const char **why)
{
    const char *value = request->authorization;
    bool munge = !strncmp(value, "Munge ", 6), box = !strncmp(value, "RgpuBox ", 8);
    SCOPED_FREE char *text = NULL;

    if (!strncmp(value, "Bearer ", 7))
        return check_token(auth, value + 7, who, why);
    *why = "unknown kind of credentials";
    if (!munge && !box && strncmp(value, "Rgpu ", 5))
        return OUTCOME_UNAUTHORIZED;
    *why = "munge is not in use here";
    if (munge && !auth->munge)
        return OUTCOME_UNAUTHORIZED;
    *why = "a signed request with a body gives its SHA-256 in the header Content-SHA256";
    if (request->has_body && !request->body_digest)
        return OUTCOME_UNAUTHORIZED;
    text = signed_text(request);
    if (!text)
        return OUTCOME_NO_MEMORY;
    if (munge)
        return ask_munge(auth, value + 6, text, done, argument, job);
    if (box)
        return auth_check_box(auth, request->cluster, value + 8, text, who, why);
    return check_key(auth, value + 5, text, who, why);
}

void auth_check(struct auth *auth, const struct auth_request *request, auth_done done,
                void *argument, struct auth_job **job)
{
    struct identity who = {.name = "nobody"};
    const char *why = "";
    enum outcome error = OUTCOME_DONE;

    *job = NULL;
    if (request->local) {
        identify_user(auth, request->uid, &who);
        who.local = true;
    } else if (request->authorization) {
        error = check(auth, request, done, argument, job, &who, &why);
    }
    if (!*job)
        done(argument, error, &who, why);
    explicit_bzero(&who, sizeof(who));
}

// ---- secrets in answers ----

enum outcome auth_seal(const struct identity *who, const char *text, char **sealed)
{
    if (!who->has_secret)
        return OUTCOME_UNAUTHORIZED;
    return outcome_of(seal_text(who->secret, who->nonce, text, sealed));
}
