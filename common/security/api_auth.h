// SPDX-License-Identifier: BSD-3-Clause
// Signs requests to the broker with a shared key, and checks them; see
// docs/reference/broker-api.md. The signature covers the method, the path with its query, and the
// body, with a time and a nonce.
#ifndef RGPU_COMMON_API_AUTH_H
#define RGPU_COMMON_API_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/security/sha256.h"

#define API_NONCE_TEXT 33 // 16 random bytes in hexadecimal, and the zero

struct api_signature {
    char key[33];
    int64_t time; // seconds since 1970
    char nonce[API_NONCE_TEXT];
    uint8_t mac[SHA256_SIZE];
};

#define API_DIGEST_TEXT (2 * SHA256_SIZE + 1)

// The text that is signed, with the digest of the body; the caller frees it. NULL: no memory.
char *api_signed_text(const char *method, const char *path, const char *body_digest);
// Compute the SHA-256, in hexadecimal, of a body and of the signed text. The header Content-SHA256
// has the digest of the body, so a request can be checked before its body arrives. The payload of a
// munge credential is the digest of the text.
void api_digest(const void *bytes, size_t size, char digest[API_DIGEST_TEXT]);

// Computes `mac` from the other fields.
void api_sign(const uint8_t secret[SHA256_SIZE], const char *text, struct api_signature *signature);
// "KEY TIME NONCE MAC", at most 160 characters.
void api_signature_print(const struct api_signature *signature, char text[160]);
int api_signature_parse(const char *text, struct api_signature *signature)
    __attribute__((warn_unused_result));

// The secret with which a box signs requests, from its key for tickets.
void api_box_secret(const uint8_t key[SHA256_SIZE], uint8_t secret[SHA256_SIZE]);

// The proof of an answer: hexadecimal HMAC-SHA256 with the secret that client and broker share,
// over the request's nonce, the status and the body. It is in the header API_PROOF_HEADER, after
// "Rgpu ". With munge the client makes up a secret and seals it in the credential for the broker
// alone; its nonce is API_MUNGE_NONCE.
#define API_PROOF_HEADER "Authentication-Info"
#define API_MUNGE_NONCE "munge"

void api_prove(const uint8_t secret[SHA256_SIZE], const char *nonce, int status, const void *body,
               size_t size, char proof[API_DIGEST_TEXT]);
// `header`: the value of API_PROOF_HEADER, or NULL.
bool api_is_proven(const uint8_t secret[SHA256_SIZE], const char *nonce, int status,
                   const void *body, size_t size, const char *header);

#endif
