// SPDX-License-Identifier: BSD-3-Clause
// A ticket, its keys and a box to check it at, for the tests of tickets.
#ifndef RGPU_TESTS_TICKET_SAMPLE_H
#define RGPU_TESTS_TICKET_SAMPLE_H

#include "common/security/ticket.h"
#include "tests/tap.h"

#define SAMPLE_NOW 1700000000

static inline struct ticket sample_ticket(const char *box)
{
    struct ticket ticket = {
        .id = "t-1",
        .lease = "l-42",
        .job = "cluster/17/1699999990",
        .addresses = "10.0.0.1:7300,[fd00::1]:7300",
        .owner = 1000,
        .issued = SAMPLE_NOW,
        .expires = SAMPLE_NOW + 3600,
        .gpu_count = 2,
        .gpus =
            {
                {.uuid = "GPU-aaaa", .index = 3, .ordinal = 0, .mode = TICKET_EXCLUSIVE},
                {.uuid = "GPU-bbbb",
                 .index = 5,
                 .ordinal = 1,
                 .mode = TICKET_SHARED,
                 .memory = 10ull << 30},
            },
    };

    strcpy(ticket.box, box);
    return ticket;
}

static inline struct ticket_keyring sample_ring(const char *id)
{
    struct ticket_keyring ring = {.count = 1};

    if (ticket_key_generate(id, &ring.keys[0]))
        bail("cannot make a key");
    return ring;
}

static inline char *sample_token(const struct ticket_keyring *cluster, const struct ticket *ticket)
{
    struct ticket_keyring ring;
    char *token;

    ticket_keyring_derive(cluster, ticket->box, &ring);
    if (ticket_issue(&ring, ticket, NULL, &token))
        bail("cannot issue a ticket");
    return token;
}

#endif
