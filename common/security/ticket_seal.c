// SPDX-License-Identifier: BSD-3-Clause
// The seal of a ticket: a MAC over its payload, with members in the order of their names.
#include <errno.h>
#include <string.h>

#include "common/base/scope.h"
#include "common/security/ticket_payload.h"
#include "common/security/ticket_private.h"

static const char seal_member[] = "seal", terms_member[] = "terms";

// Computes the seal of a payload without the member "seal". A box's key is derived with another
// purpose, so it makes no seals.
static int compute_seal(const struct ticket_key *key, const json_t *payload,
                        char text[2 * SHA256_SIZE + 1])
{
    static const char purpose[] = "rgpu ticket seal\n";
    SCOPED_FREE char *form = json_dumps(payload, JSON_COMPACT | JSON_SORT_KEYS);
    struct hmac_sha256 mac;
    uint8_t digest[SHA256_SIZE];

    if (!form)
        return -ENOMEM;
    hmac_sha256_start(&mac, key->secret, SHA256_SIZE);
    hmac_sha256_add(&mac, purpose, sizeof(purpose) - 1);
    hmac_sha256_add(&mac, form, strlen(form));
    hmac_sha256_finish(&mac, digest);
    hex_encode(digest, sizeof(digest), text);
    return 0;
}

int ticket_seal_payload(const struct ticket_seal *seal, json_t *payload)
{
    json_t *terms = json_loads(seal->terms, JSON_REJECT_DUPLICATES, NULL);
    char text[2 * SHA256_SIZE + 1];
    int error = terms && seal->cluster->count > 0 ? 0 : -EINVAL;

    if (json_object_set_new(payload, terms_member, terms) && !error)
        error = -ENOMEM;
    if (!error)
        error = compute_seal(&seal->cluster->keys[0], payload, text);
    if (!error && json_object_set_new(payload, seal_member, json_string(text)))
        error = -ENOMEM;
    return error;
}

static int check_seal(const struct ticket_key *key, json_t *payload)
{
    char given[2 * SHA256_SIZE + 1] = "", text[2 * SHA256_SIZE + 1];
    const char *seal = json_string_value(json_object_get(payload, seal_member));
    int error;

    if (!seal || strlen(seal) != sizeof(given) - 1)
        return -EKEYREJECTED;
    memcpy(given, seal, sizeof(given));
    json_object_del(payload, seal_member);
    error = compute_seal(key, payload, text);
    return error ? error : secret_equal(given, text, sizeof(given)) ? 0 : -EKEYREJECTED;
}

int ticket_unseal(const struct ticket_keyring *cluster, int64_t now, const char *token,
                  struct ticket *ticket, char **terms)
{
    size_t size = ticket_public_size(token);
    const struct ticket_key *key;
    char id[TICKET_KEY_ID_MAX];
    json_t *payload = NULL;
    int error = ticket_open_payload(token, size ? size : strlen(token), id, &payload);

    if (!error)
        error = ticket_find_key(cluster, id, now, &key);
    if (!error)
        error = check_seal(key, payload);
    if (!error && !ticket_read_payload(payload, ticket))
        error = -EBADMSG;
    if (!error) {
        *terms = json_dumps(json_object_get(payload, terms_member), JSON_COMPACT);
        error = *terms ? 0 : -EBADMSG;
    }
    json_decref(payload);
    return error;
}
