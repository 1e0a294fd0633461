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

// A process that has connected and has not proved that it knows the key.
struct newcomer {
    int fd; // non-blocking
    uint8_t nonce[NONCE];
    struct {
        struct introduction hello;
        uint8_t proof[SHA256_SIZE];
    } said;
    size_t got; // bytes of `said`
};

// The one that leads takes FD, which has connected, as a newcomer. -errno: it cannot be, and FD is the caller's still.
int introduction_begin(int fd, struct newcomer *newcomer);
// Takes what the newcomer has sent, and waits for nothing: -EAGAIN: not all has come. 0: it has proved itself, and
// `said.hello` is what it is. -EPERM: it does not know the key; -errno.
int introduction_hear(struct newcomer *newcomer, const struct meeting_place *place);
// The other side of it; the nonce of HELLO is filled in.
int introduction_make(int fd, const struct meeting_place *place, struct introduction *hello);

#endif
