// SPDX-License-Identifier: BSD-3-Clause
#include "common/security/sha256.h"

#include <errno.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <string.h>

_Static_assert(SHA256_SIZE == SHA256_DIGEST_SIZE, "one size for a digest");

void sha256_of(const void *data, size_t size, uint8_t digest[SHA256_SIZE])
{
    struct sha256_ctx hash;

    sha256_init(&hash);
    sha256_update(&hash, size, data);
    sha256_digest(&hash, SHA256_SIZE, digest);
}

void hmac_sha256_start(struct hmac_sha256 *mac, const void *key, size_t key_size)
{
    hmac_sha256_set_key(&mac->context, key_size, key);
}

void hmac_sha256_add(struct hmac_sha256 *mac, const void *data, size_t size)
{
    hmac_sha256_update(&mac->context, size, data);
}

void hmac_sha256_finish(struct hmac_sha256 *mac, uint8_t digest[SHA256_SIZE])
{
    hmac_sha256_digest(&mac->context, SHA256_SIZE, digest);
    explicit_bzero(mac, sizeof(*mac));
}

bool secret_equal(const void *left, const void *right, size_t size)
{
    return memeql_sec(left, right, size);
}

void hex_encode(const void *data, size_t size, char *text)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *bytes = data;

    for (size_t i = 0; i < size; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
}

static int sha256_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int hex_decode(const char *text, size_t text_size, void *data, size_t size)
{
    uint8_t *bytes = data;

    if (text_size != 2 * size)
        return -EINVAL;
    for (size_t i = 0; i < size; i++) {
        int high = sha256_hex_digit(text[2 * i]), low = sha256_hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return -EINVAL;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return 0;
}
