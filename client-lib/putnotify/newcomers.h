// SPDX-License-Identifier: BSD-3-Clause
// Processes that have connected to the leader of a rendezvous and have not yet proved that they
// know its key. All are awaited at once, so that a stranger who sends nothing delays no others.
#ifndef RGPU_TEAM_NEWCOMERS_H
#define RGPU_TEAM_NEWCOMERS_H

#include <poll.h>

#include "client-lib/putnotify/introduction.h"

enum { NEWCOMERS_MAX = 2 * RGPU_MEMBERS_MAX };

struct newcomers {
    struct newcomer list[NEWCOMERS_MAX]; // oldest first
    int count;
};

// Fills COUNT entries of POLLERS, which wait for data of the newcomers.
void newcomers_watch(const struct newcomers *newcomers, struct pollfd *pollers);
// Accepts one connection of LISTENER, if there is one. If there are too many, it replaces the
// oldest.
void newcomers_accept(struct newcomers *newcomers, int listener);
// Reads data without blocking. Returns the connection of a newcomer that has proved that it knows
// the key, which the caller then owns, and its introduction; -1: there are no more. Newcomers that
// failed the proof are closed.
int newcomers_hear(struct newcomers *newcomers, const struct rendezvous_place *place,
                   struct introduction *hello);
void newcomers_close(struct newcomers *newcomers);

#endif
