// SPDX-License-Identifier: BSD-3-Clause
// A name by which processes of a lease meet, at the boxes of their tickets. A box passes one
// process's id, inside TLS, to those that prove a ticket of the same lease. The id is published at
// all boxes, so that any box can answer.
#ifndef RGPU_TEAM_RENDEZVOUS_BOXES_H
#define RGPU_TEAM_RENDEZVOUS_BOXES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/security/ticket.h"
#include "client-lib/putnotify/failure.h"

struct published_boxes;

// INVALID: another process has published this name, or no box accepts it.
enum rgpu_result rendezvous_boxes_publish(const struct ticket_bundle *bundle, const char *name,
                                          const struct rgpu_rendezvous *rendezvous,
                                          struct published_boxes **known);
void rendezvous_boxes_forget(struct published_boxes **known);
// Queries one box, and another one in each of the TRIES. INVALID: no box answers.
enum rgpu_result rendezvous_boxes_find(const struct ticket_bundle *bundle, const char *name,
                                       unsigned tries, uint64_t deadline,
                                       struct rgpu_rendezvous *rendezvous, bool *heard);

#endif
