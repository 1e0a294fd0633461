// SPDX-License-Identifier: BSD-3-Clause
// MD2 gives the digests of RFC 1319's test suite, however the input is cut up, and HMAC-MD2 follows
// RFC 2104 for short, block-sized and long keys.
#include "common/driver/md2.h"

#include "tests/tap.h"

static const struct {
    const char *text;
    const char *digest;
} suite[] = {
    {"", "8350e5a3e24c153df2275c9f80692773"},
    {"a", "32ec01ec4a6dac72c0ab96fb34c0b5d1"},
    {"abc", "da853b0d3f88d99b30283a69e6ded6bb"},
    {"message digest", "ab4f496bfb2a530b219ff33031fe06b0"},
    {"abcdefghijklmnopqrstuvwxyz", "4e8ddff3650292ab5a4108c3aa47940b"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
     "da33def2a42df13975352846c30338cd"},
    {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
     "d5976f79d83d3a0dc9806c3c66f3efd8"},
};

static const char *hex(const uint8_t digest[MD2_DIGEST])
{
    static char text[2 * MD2_DIGEST + 1];
    for (size_t i = 0; i < MD2_DIGEST; i++)
        sprintf(text + 2 * i, "%02x", digest[i]);
    return text;
}

static const char *md2_of(const void *data, size_t size, size_t part)
{
    uint8_t digest[MD2_DIGEST];
    struct md2 hash;
    md2_init(&hash);
    for (size_t at = 0; at < size; at += part)
        md2_update(&hash, (const char *)data + at, size - at < part ? size - at : part);
    md2_final(&hash, digest);
    return hex(digest);
}

static void check_suite(void)
{
    for (size_t i = 0; i < sizeof suite / sizeof *suite; i++) {
        size_t size = strlen(suite[i].text);
        is_str(md2_of(suite[i].text, size, 1000), suite[i].digest, "\"%s\"", suite[i].text);
        is_str(md2_of(suite[i].text, size, 7), suite[i].digest, "the same in parts of 7 bytes");
    }
}

// RFC 2104 written out: H(key ^ opad, H(key ^ ipad, text)).
static void spelled_out(const uint8_t key[MD2_BLOCK], const char *text, uint8_t digest[MD2_DIGEST])
{
    uint8_t pad[MD2_BLOCK];
    struct md2 hash;
    for (size_t i = 0; i < MD2_BLOCK; i++)
        pad[i] = key[i] ^ 0x36;
    md2_init(&hash);
    md2_update(&hash, pad, sizeof pad);
    md2_update(&hash, text, strlen(text));
    md2_final(&hash, digest);
    for (size_t i = 0; i < MD2_BLOCK; i++)
        pad[i] = key[i] ^ 0x5c;
    md2_init(&hash);
    md2_update(&hash, pad, sizeof pad);
    md2_update(&hash, digest, MD2_DIGEST);
    md2_final(&hash, digest);
}

static void check_hmac(const char *key, size_t key_size, const char *what)
{
    static const char text[] = "what is signed";
    uint8_t block[MD2_BLOCK] = {0}, got[MD2_DIGEST], want[MD2_DIGEST];
    struct hmac_md2 mac;
    if (key_size > MD2_BLOCK) {
        struct md2 hash;
        md2_init(&hash);
        md2_update(&hash, key, key_size);
        md2_final(&hash, block);
    } else {
        memcpy(block, key, key_size);
    }
    spelled_out(block, text, want);
    hmac_md2_init(&mac, key, key_size);
    hmac_md2_update(&mac, text, 4);
    hmac_md2_update(&mac, text + 4, strlen(text) - 4);
    hmac_md2_final(&mac, got);
    is_mem(got, want, sizeof want, "HMAC with %s", what);
}

int main(void)
{
    check_suite();
    check_hmac("key", 3, "a short key");
    check_hmac("0123456789abcdef", 16, "a key of one block");
    check_hmac("a key that is longer than one block is hashed", 45, "a long key");
    return done();
}
