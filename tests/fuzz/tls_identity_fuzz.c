// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: a stranger's first bytes at a box that requires tickets, as TLS and as the name of a
// secret, which is a ticket's public part. No input authenticates the stranger.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/security/ticket.h"
#include "common/security/tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ticket_keyring ring = {
    .count = 1,
    .keys = {{.id = "k1", .secret = {1, 2, 3, 4}}},
};
static const struct ticket_check check = {
    .ring = &ring, .box = "box1", .now = 1795309300, .skew = 60, .max_lifetime = 86400};

static int find(void *argument, const void *identity, size_t size, uint8_t key[TLS_SECRET_BYTES])
{
    struct ticket ticket;
    int err = ticket_recompute(&check, identity, size, key, &ticket);

    if (!err && (ticket.gpu_count > TICKET_GPUS_MAX || ticket_check_use(&check, &ticket) > 0))
        abort();
    return err;
}

static void shake_hands(const uint8_t *data, size_t size)
{
    struct tls *tls = NULL;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) ||
        tls_server(ends[0], find, NULL, false, &tls))
        abort();
    if (size && write(ends[1], data, size) != (ssize_t)size)
        abort();
    shutdown(ends[1], SHUT_WR);
    if (tls_handshake(tls) == 0)
        abort();
    tls_discard(&tls);
    close(ends[0]);
    close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t key[TLS_SECRET_BYTES];

    if (size > 65536)
        return 0;
    find(NULL, data, size, key);
    shake_hands(data, size);
    return 0;
}
