// SPDX-License-Identifier: BSD-3-Clause
// Processes of one lease that find each other by a name. One says something, which only they can understand; the others
// ask for it. All of them reach this box by their ticket, wherever they are, so that no directory, broker or port is to be
// shared. What was said is forgotten with the connection of who said it. Each function may free the client.
#ifndef RGPU_DAEMON_MEETINGS_H
#define RGPU_DAEMON_MEETINGS_H

#include "daemon/client.h"

// MEET is there; it may be answered later.
void meeting_take(struct client *client);
// CLIENT_MEETING: it has left, or speaks out of turn.
void meeting_watch(struct client *client);
// The same: its time is over. Who says something stays as long as its lease does; who asks is told that nobody has come.
void meeting_review(struct client *client);

unsigned meetings_count(const struct box *box); // clients that look for others

#endif
