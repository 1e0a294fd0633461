// SPDX-License-Identifier: BSD-3-Clause
// Authenticates clients by their tickets, and finds the devices that a ticket grants.
#ifndef RGPU_DAEMON_ADMISSION_H
#define RGPU_DAEMON_ADMISSION_H

#include "daemon/rgpud/box/client.h"

// Computes the secret of a ticket from its public part and this box's keys, and parses it: see
// ticket_recompute().
int admission_recompute(const struct box *box, const void *public_part, size_t size,
                        uint8_t secret[SHA256_SIZE], struct ticket *ticket)
    __attribute__((warn_unused_result));
// Returns 0 if the ticket is valid now, or an error of ticket_check_use(). The client must have
// proved its secret.
int admission_check_use(const struct box *box, const struct ticket *ticket)
    __attribute__((warn_unused_result));
// Finds the devices and limits of the client. The box's devices must be known. Returns 0, or
// -ENODEV and the reason in TEXT.
int admission_resolve(struct box *box, const struct ticket *ticket, struct session_grant *out,
                      char *text, size_t size) __attribute__((warn_unused_result));
// As admission_resolve(), for a client that wants no session. If it fails, refuses and maybe frees
// the client, and returns false.
bool admission_grants(struct client *client, struct session_grant *out)
    __attribute__((warn_unused_result));
// Loads the ticket keys again, if clients need tickets. Returns 0, or -errno after logging.
int admission_load_keys(struct box *box, const struct box_settings *settings)
    __attribute__((warn_unused_result));

#endif
