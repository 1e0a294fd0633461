// SPDX-License-Identifier: BSD-3-Clause
// The first messages between a process that connects to a rendezvous, the newcomer, and the leading
// process, which listens there. The newcomer names its members, and both prove that they know the
// key of the rendezvous.
#ifndef RGPU_TEAM_INTRODUCTION_H
#define RGPU_TEAM_INTRODUCTION_H

#include "client-lib/putnotify/rendezvous_id.h"

enum {
    NONCE = 32,
    PROOF_MS = 5000, // milliseconds that the newcomer allows for the whole exchange
};

// The newcomer's message: the size of the team, and its members FIRST to FIRST + COUNT - 1.
struct introduction {
    uint8_t nonce[NONCE]; // random, so that no proof is valid twice
    int32_t size, first, count;
};

// A newcomer, as the leading process sees it.
struct newcomer {
    int fd;               // the connection, non-blocking
    uint8_t nonce[NONCE]; // sent by the leading process
    struct {
        struct introduction hello;
        uint8_t proof[SHA256_SIZE];
    } said;     // received from the newcomer
    size_t got; // bytes of `said` received so far
};

// Leader: fills in NEWCOMER for the new connection FD, and sends it the nonce. Returns 0, and
// NEWCOMER owns FD, or -errno, and the caller still owns FD.
int introduction_begin(int fd, struct newcomer *newcomer);
// Leader: reads the newcomer's message, without waiting for it. Returns 0 once the message is
// complete and proves the key, after sending the leader's proof. Returns -EAGAIN if bytes are
// missing, -EPERM if the proof is wrong, or another -errno.
int introduction_hear(struct newcomer *newcomer, const struct rendezvous_place *place);
// Newcomer: makes the whole exchange on the connection FD, which the caller owns. The caller has
// filled in HELLO except its nonce. Returns 0, -EPERM if the leader's proof is wrong, or -errno.
int introduction_make(int fd, const struct rendezvous_place *place, struct introduction *hello);

#endif
