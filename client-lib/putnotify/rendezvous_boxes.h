// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous by name at the boxes of a lease. One process publishes the id of a rendezvous
// (rendezvous_id.h) at all boxes of its ticket. Any of them returns the id to processes that prove
// a ticket of the same lease. The id is sent inside TLS.
#ifndef RGPU_TEAM_RENDEZVOUS_BOXES_H
#define RGPU_TEAM_RENDEZVOUS_BOXES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/security/ticket.h"
#include "client-lib/putnotify/failure.h"

// The connections to the boxes; the name is published as long as they are open.
struct published_boxes;

// Publishes RENDEZVOUS under NAME at the boxes of BUNDLE. *KNOWN is for rendezvous_boxes_forget.
// Errors: INVALID (another process has published this name, or no box accepts it), MEMORY.
enum rgpu_result rendezvous_boxes_publish(const struct ticket_bundle *bundle, const char *name,
                                          const struct rgpu_rendezvous *rendezvous,
                                          struct published_boxes **known);
// Withdraws the name from the boxes, frees *KNOWN and sets it to NULL.
void rendezvous_boxes_forget(struct published_boxes **known);
// Queries the boxes of BUNDLE for NAME until one answers, first the box with index TRIES modulo
// their number. Sets *HEARD to true and *RENDEZVOUS to the id if that box knows the name. A box
// waits up to 10 seconds for the name before it answers; DEADLINE (nanoseconds of clock_ns) limits
// the wait. INVALID: no box answers.
enum rgpu_result rendezvous_boxes_find(const struct ticket_bundle *bundle, const char *name,
                                       unsigned tries, uint64_t deadline,
                                       struct rgpu_rendezvous *rendezvous, bool *heard);

#endif
