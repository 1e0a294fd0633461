// SPDX-License-Identifier: BSD-3-Clause
// Functions of broker and box: issue tokens with libjwt, and verify what a client presents.
#include "common/security/ticket.h"
#include "common/security/ticket_payload.h"

#include <errno.h>
#include <jwt.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"

static json_t *gpus_to_json(const struct ticket *ticket)
{
    json_t *list = json_array();

    for (size_t i = 0; i < ticket->gpu_count; i++) {
        const struct ticket_gpu *gpu = &ticket->gpus[i];
        json_t *object = json_pack("{s:s, s:I, s:I, s:s, s:I}", "uuid", gpu->uuid, "index",
                                   (json_int_t)gpu->index, "ordinal", (json_int_t)gpu->ordinal,
                                   "mode", ticket_mode_names[gpu->mode], "memory",
                                   (json_int_t)gpu->memory);
        if (gpu->compute)
            json_object_set_new(object, "compute", json_integer(gpu->compute));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *payload_of(const struct ticket *ticket)
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

    if (payload && ticket->bandwidth)
        json_object_set_new(payload, "bandwidth", json_integer((json_int_t)ticket->bandwidth));
    return payload;
}

static int payload_to_text(const struct ticket *ticket, const struct ticket_seal *seal, char **text)
{
    json_t *payload = payload_of(ticket);
    int error = payload ? 0 : -ENOMEM;

    if (!error && seal)
        error = ticket_seal_payload(seal, payload);
    *text = error ? NULL : json_dumps(payload, JSON_COMPACT);
    json_decref(payload);
    return error ? error : *text ? 0 : -ENOMEM;
}

int ticket_issue(const struct ticket_keyring *box_ring, const struct ticket *ticket,
                 const struct ticket_seal *seal, char **token)
{
    const struct ticket_key *key = &box_ring->keys[0];
    SCOPED_FREE char *payload = NULL;
    char *text = NULL;
    jwt_t *jwt = NULL;
    int error;

    if (box_ring->count == 0 || ticket->gpu_count > TICKET_GPUS_MAX)
        return -EINVAL;
    error = payload_to_text(ticket, seal, &payload);
    if (error)
        return error;
    if (jwt_new(&jwt) != 0)
        return -ENOMEM;
    if (jwt_set_alg(jwt, JWT_ALG_HS256, key->secret, SHA256_SIZE) == 0 &&
        jwt_add_header(jwt, "kid", key->id) == 0 && jwt_add_grants_json(jwt, payload) == 0)
        text = jwt_encode_str(jwt);
    jwt_free(jwt);
    if (!text)
        return -EINVAL;
    if (strlen(text) > TICKET_TOKEN_MAX) {
        free(text);
        return -E2BIG;
    }
    *token = text;
    return 0;
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

int ticket_recompute(const struct ticket_check *check, const char *public_part, size_t size,
                     uint8_t secret[SHA256_SIZE], struct ticket *ticket)
{
    const struct ticket_key *key = NULL;
    char id[TICKET_KEY_ID_MAX];
    struct hmac_sha256 mac;
    json_t *payload;
    int error = ticket_open_payload(public_part, size, id, &payload);

    if (error)
        return error;
    error = ticket_find_key(check->ring, id, check->now, &key);
    *ticket = (struct ticket){0};
    if (!error && !ticket_read_payload(payload, ticket))
        error = -EBADMSG;
    json_decref(payload);
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
