// SPDX-License-Identifier: BSD-3-Clause
// The introduction of a process that has connected: it names its members, and both sides prove that
// they know the key of the rendezvous place.
#ifndef RGPU_TEAM_INTRODUCTION_H
#define RGPU_TEAM_INTRODUCTION_H

#include "client-lib/putnotify/rendezvous_id.h"

enum {
    NONCE = 32,
    PROOF_MS = 5000, // limit for the whole exchange
};

// The data by which a process introduces itself.
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

// The leading process takes FD, a new connection, as a newcomer. After -errno the caller still owns
// FD.
int introduction_begin(int fd, struct newcomer *newcomer);
// Reads the newcomer's data without blocking. 0: it has proved that it knows the key, and
// `said.hello` is complete. -EAGAIN: data are missing. -EPERM: it does not know the key; -errno.
int introduction_hear(struct newcomer *newcomer, const struct rendezvous_place *place);
// The newcomer's side of the exchange. Fills in the nonce of HELLO.
int introduction_make(int fd, const struct rendezvous_place *place, struct introduction *hello);

#endif
