// SPDX-License-Identifier: BSD-3-Clause
// Authenticates clients by their tickets and computes the devices that a ticket grants on this box.
#ifndef RGPU_DAEMON_ADMISSION_H
#define RGPU_DAEMON_ADMISSION_H

#include "daemon/rgpud/box/client.h"

// Recomputes the secret of a ticket from its public part and this box's keys, and decodes the
// ticket: ticket_recompute().
int admission_recompute(const struct box *box, const void *public_part, size_t size,
                        uint8_t secret[SHA256_SIZE], struct ticket *ticket)
    __attribute__((warn_unused_result));
// Returns 0 if a ticket whose secret the client has proved is valid now, or the problem:
// ticket_check_use().
int admission_check_use(const struct box *box, const struct ticket *ticket)
    __attribute__((warn_unused_result));
// Computes the devices that the client may use. The box's devices must be known. Returns 0, or
// -ENODEV with the reason in TEXT.
int admission_resolve(struct box *box, const struct ticket *ticket, struct session_grant *out,
                      char *text, size_t size) __attribute__((warn_unused_result));
// Does the same for a client that asks without a session. Returns false after refusing the client,
// which may have been freed.
bool admission_grants(struct client *client, struct session_grant *out)
    __attribute__((warn_unused_result));
// Loads the keys again if clients need tickets. Returns 0 or -errno after logging.
int admission_load_keys(struct box *box, const struct box_settings *settings)
    __attribute__((warn_unused_result));

#endif
