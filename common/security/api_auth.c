// SPDX-License-Identifier: BSD-3-Clause
#include "common/security/api_auth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char *api_signed_text(const char *method, const char *path, const char *body_digest)
{
    char *text;

    return asprintf(&text, "%s %s\n%s\n", method, path, body_digest) < 0 ? NULL : text;
}

void api_digest(const void *bytes, size_t size, char digest[API_DIGEST_TEXT])
{
    uint8_t sum[SHA256_SIZE];

    sha256_of(bytes, size, sum);
    hex_encode(sum, sizeof(sum), digest);
}

void api_sign(const uint8_t secret[SHA256_SIZE], const char *text, struct api_signature *signature)
{
    struct hmac_sha256 mac;
    char time[32];

    snprintf(time, sizeof(time), "%" PRId64 "\n", signature->time);
    hmac_sha256_start(&mac, secret, SHA256_SIZE);
    hmac_sha256_add(&mac, text, strlen(text));
    hmac_sha256_add(&mac, time, strlen(time));
    hmac_sha256_add(&mac, signature->nonce, strlen(signature->nonce));
    hmac_sha256_finish(&mac, signature->mac);
}

void api_signature_print(const struct api_signature *signature, char text[160])
{
    char mac[2 * SHA256_SIZE + 1];

    hex_encode(signature->mac, sizeof(signature->mac), mac);
    snprintf(text, 160, "%s %" PRId64 " %s %s", signature->key, signature->time, signature->nonce,
             mac);
}

int api_signature_parse(const char *text, struct api_signature *signature)
{
    struct api_signature out;
    char mac[2 * SHA256_SIZE + 2], more;

    memset(&out, 0, sizeof(out));
    if (sscanf(text, "%32s %" SCNd64 " %32s %65s %c", out.key, &out.time, out.nonce, mac, &more) !=
            4 ||
        strlen(out.nonce) != API_NONCE_TEXT - 1 ||
        hex_decode(mac, strlen(mac), out.mac, sizeof(out.mac)) < 0)
        return -EINVAL;
    *signature = out;
    return 0;
}

void api_box_secret(const uint8_t key[SHA256_SIZE], uint8_t secret[SHA256_SIZE])
{
    static const char purpose[] = "rgpu box requests\n";
    struct hmac_sha256 mac;

    hmac_sha256_start(&mac, key, SHA256_SIZE);
    hmac_sha256_add(&mac, purpose, sizeof(purpose) - 1);
    hmac_sha256_finish(&mac, secret);
}

void api_prove(const uint8_t secret[SHA256_SIZE], const char *nonce, int status, const void *body,
               size_t size, char proof[API_DIGEST_TEXT])
{
    char digest[API_DIGEST_TEXT], text[256];
    uint8_t sum[SHA256_SIZE];
    struct hmac_sha256 mac;

    api_digest(body, size, digest);
    snprintf(text, sizeof(text), "rgpu answer\n%s\n%d\n%s\n", nonce, status, digest);
    hmac_sha256_start(&mac, secret, SHA256_SIZE);
    hmac_sha256_add(&mac, text, strlen(text));
    hmac_sha256_finish(&mac, sum);
    hex_encode(sum, sizeof(sum), proof);
}

bool api_is_proven(const uint8_t secret[SHA256_SIZE], const char *nonce, int status,
                   const void *body, size_t size, const char *header)
{
    char proof[API_DIGEST_TEXT];

    if (!header || strncmp(header, "Rgpu ", 5) || strcspn(header + 5, "\r\n") != sizeof(proof) - 1)
        return false;
    api_prove(secret, nonce, status, body, size, proof);
    return secret_equal(header + 5, proof, sizeof(proof) - 1);
}
