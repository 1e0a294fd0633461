// SPDX-License-Identifier: BSD-3-Clause
// Processes that have connected with the one that leads a meeting and have not proved that they know its key. All are
// awaited at once, so that a stranger who says nothing holds up nobody.
#ifndef RGPU_TEAM_NEWCOMERS_H
#define RGPU_TEAM_NEWCOMERS_H

#include <poll.h>

#include "team-lib/introduction.h"

enum { NEWCOMERS_MAX = 2 * RGPU_MEMBERS_MAX };

struct newcomers {
    struct newcomer list[NEWCOMERS_MAX]; // oldest first
    int count;
};

// Fills COUNT entries of POLLERS, which wait for what the newcomers say.
void newcomers_watch(const struct newcomers *newcomers, struct pollfd *pollers);
// Takes one connection of LISTENER, if there is any. One too many takes the place of the oldest.
void newcomers_accept(struct newcomers *newcomers, int listener);
// Takes what has been said, and waits for nothing. Returns the connection of one that has proved itself, which is the
// caller's, and what it is; -1: there is no more. Others that have said all are closed.
int newcomers_hear(struct newcomers *newcomers, const struct meeting_place *place,
                   struct introduction *hello);
void newcomers_close(struct newcomers *newcomers);

#endif
