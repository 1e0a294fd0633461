// SPDX-License-Identifier: BSD-3-Clause
// SHA-256, HMAC-SHA256 and helpers for secrets. nettle is linked statically, because every CUDA
// program loads the client library, which must not load a shared cryptography library of some
// version into it.
#ifndef RGPU_COMMON_SHA256_H
#define RGPU_COMMON_SHA256_H

#include <nettle/hmac.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

void sha256_of(const void *data, size_t size, uint8_t digest[SHA256_SIZE]);

struct hmac_sha256 {
    struct hmac_sha256_ctx context;
};

void hmac_sha256_start(struct hmac_sha256 *mac, const void *key, size_t key_size);
void hmac_sha256_add(struct hmac_sha256 *mac, const void *data, size_t size);
void hmac_sha256_finish(struct hmac_sha256 *mac, uint8_t digest[SHA256_SIZE]);

// Compares in constant time.
bool secret_equal(const void *left, const void *right, size_t size);

// Writes lower-case hexadecimal. `text` has 2 * size + 1 bytes.
void hex_encode(const void *data, size_t size, char *text);
// Decodes exactly 2 * size hexadecimal digits. Returns 0 or -EINVAL.
int hex_decode(const char *text, size_t text_size, void *data, size_t size);

#endif
