// SPDX-License-Identifier: BSD-3-Clause
// Reads the payload of a ticket, for ticket_token.c and ticket_seal.c.
#ifndef RGPU_COMMON_TICKET_PAYLOAD_H
#define RGPU_COMMON_TICKET_PAYLOAD_H

#include <jansson.h>

#include "common/security/ticket.h"

// Adds the members "terms" and "seal" to a payload that key 0 of the cluster will sign.
int ticket_seal_payload(const struct ticket_seal *seal, json_t *payload)
    __attribute__((warn_unused_result));

extern const char *const ticket_mode_names[]; // by enum ticket_mode

// Reads header.payload (SIZE characters) without verifying a signature. Sets ID to the name of its
// key, and *PAYLOAD, which the caller decrefs.
int ticket_open_payload(const char *public_part, size_t size, char id[TICKET_KEY_ID_MAX],
                        json_t **payload) __attribute__((warn_unused_result));
// Returns true if a payload has all members of a ticket, with valid values.
bool ticket_read_payload(const json_t *payload, struct ticket *ticket);
// Finds key ID. Returns -ENOKEY if there is none, or if it has expired at NOW.
int ticket_find_key(const struct ticket_keyring *ring, const char *id, int64_t now,
                    const struct ticket_key **key) __attribute__((warn_unused_result));

#endif
