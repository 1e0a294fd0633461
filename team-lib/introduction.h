// SPDX-License-Identifier: BSD-3-Clause
// How a process of a team that has connected says who it is, and both sides prove that they know the key of the place.
#ifndef RGPU_TEAM_INTRODUCTION_H
#define RGPU_TEAM_INTRODUCTION_H

#include "team-lib/meeting_id.h"

enum {
    NONCE = 32,
    PROOF_MS = 5000, // in which it is over
};

// What a process says of itself.
struct introduction {
    uint8_t nonce[NONCE];
    int32_t size, first, count;
};

// The one that leads hears of another process, which has connected. -EPERM: that does not know the key; -errno.
int introduction_hear(int fd, const struct meeting_place *place, struct introduction *hello);
// The other side of it; the nonce of HELLO is filled in.
int introduction_make(int fd, const struct meeting_place *place, struct introduction *hello);

#endif
