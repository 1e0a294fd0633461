// SPDX-License-Identifier: BSD-3-Clause
// Keeps a ticket of each lease that this box serves. A broker whose database was restored from an
// older copy does not know some of them. The box reclaims these with their tickets, and the broker
// adopts them or gives the reason for a refusal (docs/admin/pool.md).
#ifndef RGPU_DAEMON_SERVED_LEASES_H
#define RGPU_DAEMON_SERVED_LEASES_H

#include <jansson.h>
#include <stdbool.h>

#include "common/security/ticket.h"
#include "daemon/rgpud/box/box.h"

struct served_leases;

// Returns NULL without memory.
struct served_leases *served_new(const struct box *box);
void served_free(struct served_leases **served);

// Stores the TICKET of a lease whose header.payload is TEXT, if it is valid for longer than the
// known one. Without memory the lease stays unknown.
void served_note(struct served_leases *served, const struct ticket *ticket, const char *text);
void served_forget(struct served_leases *served, const char *lease);

// Reclaims a lease in the next report, unless the broker has refused it. Returns false if no ticket
// of the lease is known.
bool served_reclaim(struct served_leases *served, const char *lease);
// Reclaims, in the next report, the leases that ACCEPTED does not return true for.
void served_reclaim_others(struct served_leases *served,
                           bool (*accepted)(void *argument, const char *lease, int64_t epoch),
                           void *argument);
// Returns true if there are leases to reclaim that the pending report does not name.
bool served_has_reclaims(const struct served_leases *served);

// Returns the leases to reclaim, for a report: [{"lease":, "ticket":}].
json_t *served_report(struct served_leases *served);
// Handles the broker's verdicts. Calls ADOPTED for each lease that the broker has adopted.
void served_take_verdicts(struct served_leases *served, const json_t *verdicts,
                          void (*adopted)(void *argument, const char *lease), void *argument);
// Handles the broker's list of leases that it does not know and whose tickets it needs.
void served_take_asked(struct served_leases *served, const json_t *asked);

// Returns the broker's reason for the refusal of a lease, or NULL if it has not refused it.
const char *served_refusal(const struct served_leases *served, const char *lease);

#endif
