// SPDX-License-Identifier: BSD-3-Clause
// Encrypts secrets in the broker's answers over TCP for the signer of the request, with
// ChaCha20-Poly1305. The key is derived for one request, and no request is answered twice.
#ifndef RGPU_COMMON_SEAL_H
#define RGPU_COMMON_SEAL_H

#include <stdint.h>

#include "common/security/sha256.h"

// Encrypts TEXT. `nonce` is the nonce of the signed request. The caller frees *SEALED
// (hexadecimal). Returns 0 or -errno.
int seal_text(const uint8_t secret[SHA256_SIZE], const char *nonce, const char *text, char **sealed)
    __attribute__((warn_unused_result));
// Decrypts. The caller frees *TEXT. Returns -EBADMSG if the text was sealed for another request or
// key, or was modified.
int seal_open(const uint8_t secret[SHA256_SIZE], const char *nonce, const char *sealed, char **text)
    __attribute__((warn_unused_result));

#endif
