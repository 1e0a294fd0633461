// SPDX-License-Identifier: BSD-3-Clause
#include "common/security/seal.h"

#include <errno.h>
#include <nettle/chacha-poly1305.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"

#define TAG CHACHA_POLY1305_DIGEST_SIZE

// A key that serves for one answer, so that the cipher's own nonce may stay zero.
static void seal_start(struct chacha_poly1305_ctx *context, const uint8_t secret[SHA256_SIZE],
                       const char *nonce)
{
    static const char purpose[] = "rgpu sealed answer\n";
    static const uint8_t zero[CHACHA_POLY1305_NONCE_SIZE];
    uint8_t key[SHA256_SIZE];
    struct hmac_sha256 mac;

    _Static_assert(CHACHA_POLY1305_KEY_SIZE == SHA256_SIZE, "the digest is the key");
    hmac_sha256_start(&mac, secret, SHA256_SIZE);
    hmac_sha256_add(&mac, purpose, sizeof(purpose) - 1);
    hmac_sha256_add(&mac, nonce, strlen(nonce));
    hmac_sha256_finish(&mac, key);
    chacha_poly1305_set_key(context, key);
    chacha_poly1305_set_nonce(context, zero);
    explicit_bzero(key, sizeof(key));
}

int seal_text(const uint8_t secret[SHA256_SIZE], const char *nonce, const char *text, char **sealed)
{
    struct chacha_poly1305_ctx context;
    size_t size = strlen(text);
    SCOPED_FREE uint8_t *bytes = malloc(size + TAG);
    SCOPED_FREE char *hex = malloc(2 * (size + TAG) + 1);

    if (!bytes || !hex)
        return -ENOMEM;
    seal_start(&context, secret, nonce);
    chacha_poly1305_encrypt(&context, size, bytes, (const uint8_t *)text);
    chacha_poly1305_digest(&context, TAG, bytes + size);
    hex_encode(bytes, size + TAG, hex);
    explicit_bzero(&context, sizeof(context));
    *sealed = scoped_take(&hex);
    return 0;
}

static int open_bytes(const uint8_t secret[SHA256_SIZE], const char *nonce, uint8_t *bytes,
                      size_t size, char *text)
{
    struct chacha_poly1305_ctx context;
    uint8_t tag[TAG];

    seal_start(&context, secret, nonce);
    chacha_poly1305_decrypt(&context, size - TAG, (uint8_t *)text, bytes);
    chacha_poly1305_digest(&context, TAG, tag);
    explicit_bzero(&context, sizeof(context));
    text[size - TAG] = '\0';
    return secret_equal(tag, bytes + size - TAG, TAG) && !memchr(text, '\0', size - TAG) ? 0
                                                                                         : -EBADMSG;
}

int seal_open(const uint8_t secret[SHA256_SIZE], const char *nonce, const char *sealed, char **out)
{
    size_t size = strlen(sealed) / 2;
    SCOPED_FREE uint8_t *bytes = malloc(size + 1);
    SCOPED_FREE char *text = malloc(size + 1);

    if (!bytes || !text)
        return -ENOMEM;
    if (size < TAG || hex_decode(sealed, strlen(sealed), bytes, size) < 0)
        return -EBADMSG;
    int error = open_bytes(secret, nonce, bytes, size, text);
    if (error)
        explicit_bzero(text, size);
    else
        *out = scoped_take(&text);
    return error;
}
