// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: a ticket bundle, a key file, and header.payload as a box receives it from an unknown
// client, and a broker from a box.
#include "common/security/ticket.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ticket_keyring ring = {
    .count = 1,
    .keys = {{.id = "k1", .secret = {1, 2, 3, 4}}},
};

static void try_token(const char *token, size_t size)
{
    const struct ticket_check check = {
        .ring = &ring, .box = "box1", .now = 1700000000, .skew = 60, .max_lifetime = 1000000};
    uint8_t secret[SHA256_SIZE];
    struct ticket ticket;
    char *terms;

    // A token with a matching secret is a well-formed ticket, even if it is forged.
    if (ticket_recompute(&check, token, size, secret, &ticket) == 0 &&
        (!ticket.gpu_count || ticket.gpu_count > TICKET_GPUS_MAX || !*ticket.lease))
        abort();
    if (ticket_unseal(&ring, 1700000000, token, &ticket, &terms) == 0)
        abort();
    if (ticket_secret(token, secret) == 0)
        secret[0] ^= 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ticket_bundle bundle = {0};
    struct ticket_keyring keys;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    try_token(text, strlen(text));
    if (ticket_bundle_parse(text, size, &bundle) == 0)
        for (size_t i = 0; i < bundle.count; i++) {
            char lease[TICKET_NAME_MAX];
            try_token(bundle.entries[i].token, bundle.entries[i].public_size);
            if (ticket_lease(&bundle.entries[i], lease) == 0 && !*lease)
                abort();
        }
    ticket_bundle_free(&bundle);
    if (ticket_keyring_parse(text, size, &keys) == 0 &&
        (keys.count == 0 || keys.count > TICKET_KEYS_MAX))
        abort();
    free(text);
    return 0;
}
