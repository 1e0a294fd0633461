// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a TLS connection in one thread, for tests.
#ifndef RGPU_TESTS_TLS_PAIR_H
#define RGPU_TESTS_TLS_PAIR_H

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/security/tls.h"
#include "tests/tap.h"

struct tls_pair {
    int fds[2];
    struct tls *ends[2]; // client, server
    int errors[2];       // of their handshakes: -EAGAIN while unfinished
};

__attribute__((unused)) static void
tls_pair_open(struct tls_pair *pair, const struct tls_secret *secret, tls_find find, void *argument)
{
    *pair = (struct tls_pair){.errors = {-EAGAIN, -EAGAIN}};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair->fds) ||
        tls_client(pair->fds[0], secret, false, &pair->ends[0]) ||
        tls_server(pair->fds[1], find, argument, false, &pair->ends[1]))
        bail("no pair of TLS ends");
}

// Lets both speak in turn until neither has more to say.
__attribute__((unused)) static void tls_pair_handshake(struct tls_pair *pair)
{
    for (int turn = 0; turn < 8; turn++) {
        int end = turn % 2;
        if (pair->errors[end] == -EAGAIN)
            pair->errors[end] = tls_handshake(pair->ends[end]);
    }
}

__attribute__((unused)) static void tls_pair_close(struct tls_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        tls_discard(&pair->ends[i]);
        close(pair->fds[i]);
    }
}

#endif
