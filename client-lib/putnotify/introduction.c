// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/introduction.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "client-lib/putnotify/process_group_bytes.h"

static void introduction_prove(const struct rendezvous_place *place, const char *role,
                               const struct introduction *hello, const uint8_t *nonce,
                               uint8_t *proof)
{
    struct hmac_sha256 mac;
    hmac_sha256_start(&mac, place->key, PLACE_KEY);
    hmac_sha256_add(&mac, role, strlen(role));
    hmac_sha256_add(&mac, hello, sizeof(*hello));
    hmac_sha256_add(&mac, nonce, NONCE);
    hmac_sha256_finish(&mac, proof);
}

static bool introduction_is_proven(const struct rendezvous_place *place, const char *role,
                                   const struct introduction *hello, const uint8_t *nonce,
                                   const uint8_t *proof)
{
    uint8_t want[SHA256_SIZE];
    introduction_prove(place, role, hello, nonce, want);
    return secret_equal(want, proof, sizeof(want));
}

_Static_assert(sizeof(((struct newcomer *)0)->said) == sizeof(struct introduction) + SHA256_SIZE,
               "what is said comes in one piece");

int introduction_begin(int fd, struct newcomer *newcomer)
{
    *newcomer = (struct newcomer){.fd = fd};
    if (getrandom(newcomer->nonce, NONCE, 0) != NONCE)
        return -EIO;
    // The send buffer of a new socket has room for it.
    ssize_t sent = send(fd, newcomer->nonce, NONCE, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent == NONCE ? 0 : sent < 0 ? -errno : -EIO;
}

int introduction_hear(struct newcomer *newcomer, const struct rendezvous_place *place)
{
    const struct introduction *hello = &newcomer->said.hello;
    uint8_t proof[SHA256_SIZE];
    ssize_t got = recv(newcomer->fd, (char *)&newcomer->said + newcomer->got,
                       sizeof(newcomer->said) - newcomer->got, MSG_DONTWAIT);

    if (got <= 0)
        return !got ? -ECONNRESET : errno == EINTR ? -EAGAIN : -errno;
    newcomer->got += (size_t)got;
    if (newcomer->got < sizeof(newcomer->said))
        return -EAGAIN;
    if (!introduction_is_proven(place, "member", hello, newcomer->nonce, newcomer->said.proof))
        return -EPERM;
    introduction_prove(place, "leader", hello, newcomer->nonce, proof);
    return bytes_send(newcomer->fd, proof, sizeof(proof), deadline_in(PROOF_MS));
}

int introduction_make(int fd, const struct rendezvous_place *place, struct introduction *hello)
{
    uint8_t nonce[NONCE], proof[SHA256_SIZE];
    uint64_t deadline = deadline_in(PROOF_MS);
    if (getrandom(hello->nonce, NONCE, 0) != NONCE)
        return -EIO;
    int err = bytes_take(fd, nonce, NONCE, deadline);
    if (err)
        return err;
    introduction_prove(place, "member", hello, nonce, proof);
    err = bytes_send(fd, hello, sizeof(*hello), deadline);
    if (!err)
        err = bytes_send(fd, proof, sizeof(proof), deadline);
    if (!err)
        err = bytes_take(fd, proof, sizeof(proof), deadline);
    if (!err && !introduction_is_proven(place, "leader", hello, nonce, proof))
        err = -EPERM;
    return err;
}
