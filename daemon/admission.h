// SPDX-License-Identifier: BSD-3-Clause
// Authentication of clients by ticket, and what a ticket entitles to on this box.
#ifndef RGPU_DAEMON_ADMISSION_H
#define RGPU_DAEMON_ADMISSION_H

#include "daemon/client.h"

// The secret of what a client shows, by this box's keys, and what it says: ticket_recompute().
int admission_recompute(const struct box *box, const void *public_part, size_t size,
                        uint8_t secret[SHA256_SIZE], struct ticket *ticket)
    __attribute__((warn_unused_result));
// Whether a ticket whose secret the client has proved is good now: ticket_check_use().
int admission_check_use(const struct box *box, const struct ticket *ticket)
    __attribute__((warn_unused_result));
// What the client may use of the devices, which must be known. 0 or -ENODEV with the text.
int admission_resolve(struct box *box, const struct ticket *ticket, struct session_grant *out,
                      char *text, size_t size) __attribute__((warn_unused_result));
// The same for a client that asks without a session. False: it has been refused, and may be freed.
bool admission_grants(struct client *client, struct session_grant *out)
    __attribute__((warn_unused_result));
// Reads the keys anew where tickets are asked for. -errno after logging.
int admission_load_keys(struct box *box, const struct box_settings *settings)
    __attribute__((warn_unused_result));

#endif
