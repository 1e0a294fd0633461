// SPDX-License-Identifier: BSD-3-Clause
// Encrypts secrets in answers of the broker over TCP, for the signer of a request with a shared
// key. The cipher is ChaCha20-Poly1305 under a key of this request alone; no request is answered
// twice.
#ifndef RGPU_COMMON_SEAL_H
#define RGPU_COMMON_SEAL_H

#include <stdint.h>

#include "common/security/sha256.h"

// `nonce` is that of the signed request. The caller frees *sealed (hexadecimal) and *text.
int seal_text(const uint8_t secret[SHA256_SIZE], const char *nonce, const char *text, char **sealed)
    __attribute__((warn_unused_result));
// -EBADMSG: made for another request or with another key, or altered.
int seal_open(const uint8_t secret[SHA256_SIZE], const char *nonce, const char *sealed, char **text)
    __attribute__((warn_unused_result));

#endif
