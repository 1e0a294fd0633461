// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous of processes of one lease, by name. One process publishes a value under a name, and
// others get it. They reach this box with their ticket, so they need no shared directory, broker or
// port. A value is removed when the connection of its publisher closes. Each function may free the
// client.
#ifndef RGPU_DAEMON_RENDEZVOUS_H
#define RGPU_DAEMON_RENDEZVOUS_H

#include "daemon/rgpud/box/client.h"

// Handles a RENDEZVOUS message. The answer may follow later.
void rendezvous_take(struct client *client);
// Handles input in state CLIENT_RENDEZVOUS: the client has closed, or violates the protocol.
void rendezvous_watch(struct client *client);
// Handles the timer in state CLIENT_RENDEZVOUS. A publisher stays until its lease ends. A client
// that waits gets the answer that there is no value yet.
void rendezvous_review(struct client *client);

unsigned rendezvous_count(const struct box *box); // number of clients in a rendezvous

#endif
