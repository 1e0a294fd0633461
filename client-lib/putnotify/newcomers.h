// SPDX-License-Identifier: BSD-3-Clause
// The newcomers (introduction.h) of a leading process, which have not yet proved that they know the
// key. The process waits for all at once, so that a stranger who sends nothing delays no others.
#ifndef RGPU_TEAM_NEWCOMERS_H
#define RGPU_TEAM_NEWCOMERS_H

#include <poll.h>

#include "client-lib/putnotify/introduction.h"

enum { NEWCOMERS_MAX = 2 * RGPU_MEMBERS_MAX };

struct newcomers {
    struct newcomer list[NEWCOMERS_MAX]; // oldest first
    int count;
};

// Fills `count` entries of POLLERS, with which poll() waits for data of the newcomers.
void newcomers_watch(const struct newcomers *newcomers, struct pollfd *pollers);
// Accepts one connection of LISTENER, if one waits. If there are NEWCOMERS_MAX already, closes the
// oldest.
void newcomers_accept(struct newcomers *newcomers, int listener);
// Reads data that have arrived. If a newcomer has proved that it knows the key, removes it from the
// list, sets *HELLO to its introduction, and returns its connection, which the caller then owns.
// Returns -1 if there is none. Newcomers whose proof or connection fails are closed.
int newcomers_hear(struct newcomers *newcomers, const struct rendezvous_place *place,
                   struct introduction *hello);
// Closes all newcomers that are left.
void newcomers_close(struct newcomers *newcomers);

#endif
