// SPDX-License-Identifier: BSD-3-Clause
// Issues a ticket for tests, as a bundle of one line.
// usage: issue_ticket KEYFILE ADDRESS BOX SECONDS [lease=NAME] [owner=UID] [shared=BYTES]
//        [protection=NAME] UUID...
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/security/ticket.h"

int main(int argc, char **argv)
{
    static struct ticket ticket = {.id = "ticket-1", .lease = "lease-1"};
    struct ticket_keyring ring;
    uint64_t shared = 0;
    char *token;

    if (argc < 6 || ticket_keyring_load(argv[1], &ring))
        return 2;
    snprintf(ticket.box, sizeof(ticket.box), "%s", argv[3]);
    snprintf(ticket.addresses, sizeof(ticket.addresses), "%s", argv[2]);
    ticket.owner = getuid();
    ticket.expires = time(NULL) + atol(argv[4]);
    ticket.issued = ticket.expires - 7200;
    for (int i = 5; i < argc; i++) {
        struct ticket_gpu *gpu = &ticket.gpus[ticket.gpu_count];
        if (!strncmp(argv[i], "lease=", 6)) {
            snprintf(ticket.lease, sizeof(ticket.lease), "%s", argv[i] + 6);
            continue;
        }
        if (!strncmp(argv[i], "owner=", 6)) {
            ticket.owner = (uid_t)atol(argv[i] + 6);
            continue;
        }
        if (!strncmp(argv[i], "protection=", 11)) {
            ticket.protection = strcmp(argv[i] + 11, "privacy") ? CONTROL_PROTECTION_AUTHENTICATE
                                                                : CONTROL_PROTECTION_PRIVACY;
            continue;
        }
        if (!strncmp(argv[i], "shared=", 7)) {
            shared = (uint64_t)atoll(argv[i] + 7);
            continue;
        }
        gpu->mode = shared ? TICKET_SHARED : TICKET_EXCLUSIVE;
        gpu->memory = shared;
        snprintf(gpu->uuid, sizeof(gpu->uuid), "%s", argv[i]);
        gpu->ordinal = (uint32_t)ticket.gpu_count++;
    }
    if (ticket_issue(&ring, &ticket, NULL, &token))
        return 1;
    printf("%s %s %s\n", ticket.box, ticket.addresses, token);
    free(token);
    return 0;
}
