// SPDX-License-Identifier: BSD-3-Clause
#include "common/security/ticket_payload.h"

#include <errno.h>
#include <jwt.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"
#include "common/security/ticket_private.h"

const char *const ticket_mode_names[] = {
    [TICKET_EXCLUSIVE] = "exclusive",
    [TICKET_SHARED] = "shared",
};

// Copies a string member; a missing, empty (unless allowed) or too long one is an error.
static bool ticket_payload_take_string(const json_t *object, const char *name, bool may_be_empty,
                                       char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));

    if (!text || strlen(text) >= size || (!*text && !may_be_empty))
        return false;
    strcpy(out, text);
    return true;
}

static bool ticket_payload_take_number(const json_t *object, const char *name, int64_t max,
                                       int64_t *out)
{
    const json_t *value = json_object_get(object, name);

    if (!json_is_integer(value))
        return false;
    *out = json_integer_value(value);
    return *out >= 0 && *out <= max;
}

static bool ticket_payload_take_gpu(const json_t *object, struct ticket_gpu *gpu)
{
    const char *mode = json_string_value(json_object_get(object, "mode"));
    int64_t index, ordinal, memory, compute = 0;

    if (!mode || !ticket_payload_take_string(object, "uuid", false, gpu->uuid, sizeof(gpu->uuid)) ||
        !ticket_payload_take_number(object, "index", UINT32_MAX, &index) ||
        !ticket_payload_take_number(object, "ordinal", UINT32_MAX, &ordinal) ||
        !ticket_payload_take_number(object, "memory", INT64_MAX, &memory) ||
        (json_object_get(object, "compute") &&
         !ticket_payload_take_number(object, "compute", 100, &compute)))
        return false;
    gpu->index = (uint32_t)index;
    gpu->ordinal = (uint32_t)ordinal;
    gpu->memory = (uint64_t)memory;
    gpu->compute = (uint32_t)compute;
    gpu->mode = !strcmp(mode, ticket_mode_names[TICKET_SHARED]) ? TICKET_SHARED : TICKET_EXCLUSIVE;
    return !strcmp(mode, ticket_mode_names[gpu->mode]) &&
           (gpu->mode != TICKET_SHARED || memory > 0);
}

static bool take_protection(const json_t *payload, enum control_protection *out)
{
    char name[32];

    if (!ticket_payload_take_string(payload, "protection", false, name, sizeof(name)))
        return false;
    *out = !strcmp(name, control_protection_name(CONTROL_PROTECTION_PRIVACY))
               ? CONTROL_PROTECTION_PRIVACY
               : CONTROL_PROTECTION_AUTHENTICATE;
    return !strcmp(name, control_protection_name(*out));
}

bool ticket_read_payload(const json_t *payload, struct ticket *ticket)
{
    const json_t *gpus = json_object_get(payload, "gpus");
    const char *issuer = json_string_value(json_object_get(payload, "iss"));
    int64_t owner, bandwidth = 0;

    if (!issuer || strcmp(issuer, "rgpu") ||
        !ticket_payload_take_string(payload, "jti", false, ticket->id, sizeof(ticket->id)) ||
        !ticket_payload_take_string(payload, "sub", false, ticket->lease, sizeof(ticket->lease)) ||
        !ticket_payload_take_string(payload, "aud", false, ticket->box, sizeof(ticket->box)) ||
        !ticket_payload_take_string(payload, "job", true, ticket->job, sizeof(ticket->job)) ||
        !ticket_payload_take_string(payload, "addresses", true, ticket->addresses,
                                    sizeof(ticket->addresses)) ||
        !take_protection(payload, &ticket->protection) ||
        !ticket_payload_take_number(payload, "iat", INT64_MAX / 2, &ticket->issued) ||
        !ticket_payload_take_number(payload, "exp", INT64_MAX / 2, &ticket->expires) ||
        (json_object_get(payload, "epoch") &&
         !ticket_payload_take_number(payload, "epoch", INT64_MAX / 2, &ticket->epoch)) ||
        (json_object_get(payload, "bandwidth") &&
         !ticket_payload_take_number(payload, "bandwidth", INT64_MAX, &bandwidth)) ||
        !ticket_payload_take_number(payload, "uid", UINT32_MAX - 1, &owner))
        return false;
    ticket->owner = (uid_t)owner;
    ticket->bandwidth = (uint64_t)bandwidth;
    ticket->gpu_count = json_array_size(gpus);
    if (ticket->gpu_count == 0 || ticket->gpu_count > TICKET_GPUS_MAX)
        return false;
    for (size_t i = 0; i < ticket->gpu_count; i++)
        if (!ticket_payload_take_gpu(json_array_get(gpus, i), &ticket->gpus[i]))
            return false;
    return true;
}

static json_t *ticket_payload_in(jwt_t *jwt)
{
    SCOPED_FREE char *text = jwt_get_grants_json(jwt, NULL);

    return text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
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

// Decodes a token without verifying it: libjwt checks a signature only when it is given a key.
static int ticket_decode(const char *token, jwt_t **jwt)
{
    const char *algorithm;

    if (jwt_decode(jwt, token, NULL, 0))
        return -EBADMSG;
    // The header itself: without a key libjwt calls every token one of algorithm "none".
    algorithm = jwt_get_header(*jwt, "alg");
    if (algorithm && !strcmp(algorithm, "HS256"))
        return 0;
    jwt_free(*jwt);
    return -EBADMSG;
}

// The caller frees *JWT.
static int ticket_open_public_part(const char *public_part, size_t size, jwt_t **jwt)
{
    SCOPED_FREE char *whole = NULL;

    if (size == 0 || size > TICKET_TOKEN_MAX || memchr(public_part, '\0', size))
        return -EBADMSG;
    whole = with_signature(public_part, size, "AA");
    if (!whole)
        return -ENOMEM;
    return ticket_public_size(whole) == size ? ticket_decode(whole, jwt) : -EBADMSG;
}

int ticket_open_payload(const char *public_part, size_t size, char id[TICKET_KEY_ID_MAX],
                        json_t **payload)
{
    jwt_t *jwt;
    const char *name;
    int error = ticket_open_public_part(public_part, size, &jwt);

    if (error)
        return error;
    name = jwt_get_header(jwt, "kid");
    *payload = name && strlen(name) < TICKET_KEY_ID_MAX ? ticket_payload_in(jwt) : NULL;
    if (*payload)
        strcpy(id, name);
    jwt_free(jwt);
    return *payload ? 0 : -EBADMSG;
}

int ticket_find_key(const struct ticket_keyring *ring, const char *id, int64_t now,
                    const struct ticket_key **out)
{
    for (size_t i = 0; i < ring->count; i++) {
        const struct ticket_key *key = &ring->keys[i];
        if (strcmp(key->id, id))
            continue;
        if (key->until && now >= key->until)
            return -ENOKEY;
        *out = key;
        return 0;
    }
    return -ENOKEY;
}
