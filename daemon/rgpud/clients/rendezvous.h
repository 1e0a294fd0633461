// SPDX-License-Identifier: BSD-3-Clause
// Lets processes of one lease find each other by a name (rendezvous). One process publishes a value
// that only they can interpret; the others ask for it. All of them reach this box with their
// ticket, so they need no shared directory, broker or port. The value is dropped when its
// publisher's connection closes. Each function may free the client.
#ifndef RGPU_DAEMON_RENDEZVOUS_H
#define RGPU_DAEMON_RENDEZVOUS_H

#include "daemon/rgpud/box/client.h"

// Handles MEET. The answer may come later.
void rendezvous_take(struct client *client);
// Handles input in CLIENT_RENDEZVOUS: the client has left, or has spoken out of turn.
void rendezvous_watch(struct client *client);
// Handles the timer in CLIENT_RENDEZVOUS. A publisher stays as long as its lease. A client that
// asks gets the answer that there is no publisher yet.
void rendezvous_review(struct client *client);

unsigned rendezvous_count(const struct box *box); // number of clients in a rendezvous

#endif
