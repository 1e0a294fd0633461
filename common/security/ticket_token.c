// SPDX-License-Identifier: BSD-3-Clause
// Functions of broker and box: issue and verify tokens with libjwt.
#include "common/security/ticket.h"
#include "common/security/ticket_private.h"

#include <errno.h>
#include <jansson.h>
#include <jwt.h>
#include <stdlib.h>
#include <string.h>

static const char *const mode_names[] = {
    [TICKET_EXCLUSIVE] = "exclusive",
    [TICKET_SHARED] = "shared",
};

static json_t *gpus_to_json(const struct ticket *ticket)
{
    json_t *list = json_array();

    for (size_t i = 0; i < ticket->gpu_count; i++) {
        const struct ticket_gpu *gpu = &ticket->gpus[i];
        json_t *object = json_pack("{s:s, s:I, s:I, s:s, s:I}", "uuid", gpu->uuid, "index",
                                   (json_int_t)gpu->index, "ordinal", (json_int_t)gpu->ordinal,
                                   "mode", mode_names[gpu->mode], "memory",
                                   (json_int_t)gpu->memory);
        if (gpu->compute)
            json_object_set_new(object, "compute", json_integer(gpu->compute));
        json_array_append_new(list, object);
    }
    return list;
}

static char *payload_to_text(const struct ticket *ticket)
{
    enum control_protection protection = ticket->protection == CONTROL_PROTECTION_PRIVACY
                                             ? CONTROL_PROTECTION_PRIVACY
                                             : CONTROL_PROTECTION_AUTHENTICATE;
    json_t *payload = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:o}",
                                "iss", "rgpu", "jti", ticket->id, "sub", ticket->lease, "aud",
                                ticket->box, "iat", (json_int_t)ticket->issued, "exp",
                                (json_int_t)ticket->expires, "epoch", (json_int_t)ticket->epoch,
                                "uid", (json_int_t)ticket->owner, "job", ticket->job, "addresses",
                                ticket->addresses, "protection",
                                control_protection_name(protection), "gpus", gpus_to_json(ticket));
    char *text = payload ? json_dumps(payload, JSON_COMPACT) : NULL;

    json_decref(payload);
    return text;
}

int ticket_issue(const struct ticket_keyring *box_ring, const struct ticket *ticket, char **token)
{
    const struct ticket_key *key = &box_ring->keys[0];
    char *payload, *text = NULL;
    jwt_t *jwt = NULL;
    int error = -EINVAL;

    if (box_ring->count == 0 || ticket->gpu_count > TICKET_GPUS_MAX)
        return -EINVAL;
    payload = payload_to_text(ticket);
    if (!payload || jwt_new(&jwt) != 0)
        error = -ENOMEM;
    else if (jwt_set_alg(jwt, JWT_ALG_HS256, key->secret, SHA256_SIZE) == 0 &&
             jwt_add_header(jwt, "kid", key->id) == 0 && jwt_add_grants_json(jwt, payload) == 0)
        text = jwt_encode_str(jwt);
    jwt_free(jwt);
    free(payload);
    if (!text)
        return error;
    if (strlen(text) > TICKET_TOKEN_MAX) {
        free(text);
        return -E2BIG;
    }
    *token = text;
    return 0;
}

// Copies a string member; a missing, empty (unless allowed) or too long one is an error.
static bool ticket_token_take_string(const json_t *object, const char *name, bool may_be_empty,
                                     char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));

    if (!text || strlen(text) >= size || (!*text && !may_be_empty))
        return false;
    strcpy(out, text);
    return true;
}

static bool ticket_token_take_number(const json_t *object, const char *name, int64_t max,
                                     int64_t *out)
{
    const json_t *value = json_object_get(object, name);

    if (!json_is_integer(value))
        return false;
    *out = json_integer_value(value);
    return *out >= 0 && *out <= max;
}

static bool ticket_token_take_gpu(const json_t *object, struct ticket_gpu *gpu)
{
    const char *mode = json_string_value(json_object_get(object, "mode"));
    int64_t index, ordinal, memory, compute = 0;

    if (!mode || !ticket_token_take_string(object, "uuid", false, gpu->uuid, sizeof(gpu->uuid)) ||
        !ticket_token_take_number(object, "index", UINT32_MAX, &index) ||
        !ticket_token_take_number(object, "ordinal", UINT32_MAX, &ordinal) ||
        !ticket_token_take_number(object, "memory", INT64_MAX, &memory) ||
        (json_object_get(object, "compute") &&
         !ticket_token_take_number(object, "compute", 100, &compute)))
        return false;
    gpu->index = (uint32_t)index;
    gpu->ordinal = (uint32_t)ordinal;
    gpu->memory = (uint64_t)memory;
    gpu->compute = (uint32_t)compute;
    gpu->mode = !strcmp(mode, mode_names[TICKET_SHARED]) ? TICKET_SHARED : TICKET_EXCLUSIVE;
    return !strcmp(mode, mode_names[gpu->mode]) && (gpu->mode != TICKET_SHARED || memory > 0);
}

static bool take_protection(const json_t *payload, enum control_protection *out)
{
    char name[32];

    if (!ticket_token_take_string(payload, "protection", false, name, sizeof(name)))
        return false;
    *out = !strcmp(name, control_protection_name(CONTROL_PROTECTION_PRIVACY))
               ? CONTROL_PROTECTION_PRIVACY
               : CONTROL_PROTECTION_AUTHENTICATE;
    return !strcmp(name, control_protection_name(*out));
}

static bool ticket_token_take_payload(const json_t *payload, struct ticket *ticket)
{
    const json_t *gpus = json_object_get(payload, "gpus");
    int64_t owner;

    if (!ticket_token_take_string(payload, "jti", false, ticket->id, sizeof(ticket->id)) ||
        !ticket_token_take_string(payload, "sub", false, ticket->lease, sizeof(ticket->lease)) ||
        !ticket_token_take_string(payload, "aud", false, ticket->box, sizeof(ticket->box)) ||
        !ticket_token_take_string(payload, "job", true, ticket->job, sizeof(ticket->job)) ||
        !ticket_token_take_string(payload, "addresses", true, ticket->addresses,
                                  sizeof(ticket->addresses)) ||
        !take_protection(payload, &ticket->protection) ||
        !ticket_token_take_number(payload, "iat", INT64_MAX / 2, &ticket->issued) ||
        !ticket_token_take_number(payload, "exp", INT64_MAX / 2, &ticket->expires) ||
        (json_object_get(payload, "epoch") &&
         !ticket_token_take_number(payload, "epoch", INT64_MAX / 2, &ticket->epoch)) ||
        !ticket_token_take_number(payload, "uid", UINT32_MAX - 1, &owner))
        return false;
    ticket->owner = (uid_t)owner;
    ticket->gpu_count = json_array_size(gpus);
    if (ticket->gpu_count == 0 || ticket->gpu_count > TICKET_GPUS_MAX)
        return false;
    for (size_t i = 0; i < ticket->gpu_count; i++)
        if (!ticket_token_take_gpu(json_array_get(gpus, i), &ticket->gpus[i]))
            return false;
    return true;
}

static int read_payload(jwt_t *jwt, struct ticket *ticket)
{
    struct ticket out = {0};
    char *text = jwt_get_grants_json(jwt, NULL);
    json_t *payload = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    const char *issuer = json_string_value(json_object_get(payload, "iss"));
    bool good = issuer && !strcmp(issuer, "rgpu") && ticket_token_take_payload(payload, &out);

    json_decref(payload);
    free(text);
    if (!good)
        return -EBADMSG;
    *ticket = out;
    return 0;
}

// Reads a token's form. libjwt checks a signature only when it is given a key.
static int open_token(const char *token, const struct ticket_key *key, jwt_t **out)
{
    jwt_t *jwt = NULL;
    int error = jwt_decode(&jwt, token, key ? key->secret : NULL, key ? SHA256_SIZE : 0);
    const char *algorithm;

    if (error)
        return key ? -EKEYREJECTED : -EBADMSG;
    // The header itself: without a key libjwt calls every token one of algorithm "none".
    algorithm = jwt_get_header(jwt, "alg");
    if (!algorithm || strcmp(algorithm, "HS256") || (key && jwt_get_alg(jwt) != JWT_ALG_HS256)) {
        jwt_free(jwt);
        return -EBADMSG;
    }
    *out = jwt;
    return 0;
}

// libjwt takes only whole tokens: gives header.payload a signature that is not checked.
static char *with_signature(const char *public_part, size_t size, const char *signature)
{
    char *token = malloc(size + strlen(signature) + 2);

    if (token) {
        memcpy(token, public_part, size);
        token[size] = '.';
        strcpy(token + size + 1, signature);
    }
    return token;
}

int ticket_parse(const char *token, struct ticket *ticket)
{
    size_t size = ticket_public_size(token);
    char *whole;
    jwt_t *jwt;
    int error;

    if (size == 0)
        size = strlen(token);
    if (size > TICKET_TOKEN_MAX)
        return -EBADMSG;
    whole = with_signature(token, size, "AA");
    error = whole ? open_token(whole, NULL, &jwt) : -ENOMEM;
    free(whole);
    if (error)
        return error;
    error = read_payload(jwt, ticket);
    jwt_free(jwt);
    return error;
}

static int ticket_token_find_key(const struct ticket_check *check, jwt_t *jwt,
                                 const struct ticket_key **out)
{
    const char *id = jwt_get_header(jwt, "kid");

    for (size_t i = 0; id && i < check->ring->count; i++) {
        const struct ticket_key *key = &check->ring->keys[i];
        if (strcmp(key->id, id))
            continue;
        if (key->until && check->now >= key->until)
            return -ENOKEY;
        *out = key;
        return 0;
    }
    return id ? -ENOKEY : -EBADMSG;
}

int ticket_check_use(const struct ticket_check *check, const struct ticket *ticket)
{
    if (strcmp(ticket->box, check->box))
        return -EXDEV;
    if (ticket->issued > check->now + check->skew)
        return -EAGAIN;
    if (ticket->expires - ticket->issued > check->max_lifetime)
        return -EOVERFLOW;
    if (ticket->expires + check->skew <= check->now)
        return -EKEYEXPIRED;
    return 0;
}

static int accept_payload(const struct ticket_check *check, jwt_t *jwt, struct ticket *ticket)
{
    struct ticket out;
    int error = read_payload(jwt, &out);

    if (!error)
        error = ticket_check_use(check, &out);
    if (!error)
        *ticket = out;
    return error;
}

int ticket_verify(const struct ticket_check *check, const char *token, struct ticket *ticket)
{
    const struct ticket_key *key = NULL;
    jwt_t *jwt;
    int error;

    if (ticket_public_size(token) == 0 || strlen(token) > TICKET_TOKEN_MAX)
        return -EBADMSG;
    error = open_token(token, NULL, &jwt);
    if (error)
        return error;
    error = ticket_token_find_key(check, jwt, &key);
    jwt_free(jwt);
    if (error)
        return error;
    error = open_token(token, key, &jwt);
    if (error)
        return error;
    error = accept_payload(check, jwt, ticket);
    jwt_free(jwt);
    return error;
}

int ticket_recompute(const struct ticket_check *check, const char *public_part, size_t size,
                     uint8_t secret[SHA256_SIZE], struct ticket *ticket)
{
    const struct ticket_key *key = NULL;
    struct hmac_sha256 mac;
    char *whole;
    jwt_t *jwt;
    int error;

    if (size == 0 || size > TICKET_TOKEN_MAX || memchr(public_part, '\0', size))
        return -EBADMSG;
    whole = with_signature(public_part, size, "AA");
    if (!whole)
        return -ENOMEM;
    error = ticket_public_size(whole) == size ? open_token(whole, NULL, &jwt) : -EBADMSG;
    free(whole);
    if (error)
        return error;
    error = ticket_token_find_key(check, jwt, &key);
    if (!error)
        error = read_payload(jwt, ticket);
    jwt_free(jwt);
    if (error)
        return error;
    hmac_sha256_start(&mac, key->secret, SHA256_SIZE);
    hmac_sha256_add(&mac, public_part, size);
    hmac_sha256_finish(&mac, secret);
    return 0;
}

const char *ticket_error(int error)
{
    switch (error) {
    case 0: return "valid";
    case -EBADMSG: return "not a ticket";
    case -ENOKEY: return "signed with a key that this box does not accept (any more)";
    case -EKEYREJECTED: return "signature is wrong: forged, altered, or the box has another key";
    case -EXDEV: return "issued for another box";
    case -EKEYEXPIRED: return "expired";
    case -EAGAIN: return "issued in the future: compare the clocks of broker and box";
    case -EOVERFLOW: return "valid for longer than this box accepts (max_ticket_lifetime)";
    case -EPERM: return "file is not private: it must be a regular file of yours with mode 0600";
    case -ENOENT: return "no ticket: set RGPU_TICKET or RGPU_TICKET_FILE";
    }
    return strerror(-error);
}
