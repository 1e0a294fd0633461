// SPDX-License-Identifier: BSD-3-Clause
// Signatures of requests to the broker with a shared key; see docs/reference/broker-api.md. A
// signature covers method, path with query, body, time, and a nonce.
#ifndef RGPU_COMMON_API_AUTH_H
#define RGPU_COMMON_API_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/security/sha256.h"

#define API_NONCE_TEXT 33 // 16 random bytes in hexadecimal, and a NUL

struct api_signature {
    char key[33];
    int64_t time; // seconds since 1970
    char nonce[API_NONCE_TEXT];
    uint8_t mac[SHA256_SIZE];
};

#define API_DIGEST_TEXT (2 * SHA256_SIZE + 1)

// Returns the text to sign, which the caller frees; NULL if memory is exhausted.
char *api_signed_text(const char *method, const char *path, const char *body_digest);
// Computes a SHA-256 in hexadecimal. The digest of the body is in the header Content-SHA256, so
// that a request can be verified before its body arrives. The digest of the signed text is the
// payload of a munge credential.
void api_digest(const void *bytes, size_t size, char digest[API_DIGEST_TEXT]);

// Computes `mac` from the other members and TEXT.
void api_sign(const uint8_t secret[SHA256_SIZE], const char *text, struct api_signature *signature);
// Format and parse "KEY TIME NONCE MAC", at most 160 characters.
void api_signature_print(const struct api_signature *signature, char text[160]);
int api_signature_parse(const char *text, struct api_signature *signature)
    __attribute__((warn_unused_result));

// Derives the secret with which a box signs requests from its ticket key.
void api_box_secret(const uint8_t key[SHA256_SIZE], uint8_t secret[SHA256_SIZE]);

// Computes the proof of an answer: hexadecimal HMAC-SHA256 of the request's nonce, the status and
// the body, with the secret that client and broker share. The proof follows "Rgpu " in the header
// API_PROOF_HEADER. With munge, the secret is a random number of the client in the credential,
// which only the broker can decode, and the nonce is API_MUNGE_NONCE.
#define API_PROOF_HEADER "Authentication-Info"
#define API_MUNGE_NONCE "munge"

void api_prove(const uint8_t secret[SHA256_SIZE], const char *nonce, int status, const void *body,
               size_t size, char proof[API_DIGEST_TEXT]);
// Verifies the proof of an answer. `header`: value of API_PROOF_HEADER, or NULL.
bool api_is_proven(const uint8_t secret[SHA256_SIZE], const char *nonce, int status,
                   const void *body, size_t size, const char *header);

#endif
