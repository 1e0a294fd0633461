// SPDX-License-Identifier: BSD-3-Clause
#include "team-lib/introduction.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "common/clock.h"
#include "team-lib/company_bytes.h"

static void prove(const struct meeting_place *place, const char *role,
                  const struct introduction *hello, const uint8_t *nonce, uint8_t *proof)
{
    struct hmac_sha256 mac;
    hmac_sha256_start(&mac, place->key, PLACE_KEY);
    hmac_sha256_add(&mac, role, strlen(role));
    hmac_sha256_add(&mac, hello, sizeof(*hello));
    hmac_sha256_add(&mac, nonce, NONCE);
    hmac_sha256_finish(&mac, proof);
}

static bool is_proven(const struct meeting_place *place, const char *role,
                      const struct introduction *hello, const uint8_t *nonce, const uint8_t *proof)
{
    uint8_t want[SHA256_SIZE];
    prove(place, role, hello, nonce, want);
    return secret_equal(want, proof, sizeof(want));
}

int introduction_hear(int fd, const struct meeting_place *place, struct introduction *hello)
{
    uint8_t nonce[NONCE], proof[SHA256_SIZE];
    uint64_t deadline = deadline_in(PROOF_MS);
    if (getrandom(nonce, NONCE, 0) != NONCE)
        return -EIO;
    int err = bytes_send(fd, nonce, NONCE, deadline);
    if (!err)
        err = bytes_take(fd, hello, sizeof(*hello), deadline);
    if (!err)
        err = bytes_take(fd, proof, sizeof(proof), deadline);
    if (err)
        return err;
    if (!is_proven(place, "member", hello, nonce, proof))
        return -EPERM;
    prove(place, "leader", hello, nonce, proof);
    return bytes_send(fd, proof, sizeof(proof), deadline);
}

int introduction_make(int fd, const struct meeting_place *place, struct introduction *hello)
{
    uint8_t nonce[NONCE], proof[SHA256_SIZE];
    uint64_t deadline = deadline_in(PROOF_MS);
    if (getrandom(hello->nonce, NONCE, 0) != NONCE)
        return -EIO;
    int err = bytes_take(fd, nonce, NONCE, deadline);
    if (err)
        return err;
    prove(place, "member", hello, nonce, proof);
    err = bytes_send(fd, hello, sizeof(*hello), deadline);
    if (!err)
        err = bytes_send(fd, proof, sizeof(proof), deadline);
    if (!err)
        err = bytes_take(fd, proof, sizeof(proof), deadline);
    if (!err && !is_proven(place, "leader", hello, nonce, proof))
        err = -EPERM;
    return err;
}
