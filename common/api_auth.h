// SPDX-License-Identifier: BSD-3-Clause
// How requests to the broker are signed with a shared key, for both sides; see docs/broker-api.md.
// What is signed is the method, the path with its query, and the body, with a time and a nonce.
#ifndef RGPU_COMMON_API_AUTH_H
#define RGPU_COMMON_API_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/sha256.h"

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
// Hexadecimal SHA-256: of a body, for the header Content-SHA256, by which a request can be checked
// before its body has come; and of the signed text, for the payload of a munge credential.
void api_digest(const void *bytes, size_t size, char digest[API_DIGEST_TEXT]);

// Computes `mac` from the other fields.
void api_sign(const uint8_t secret[SHA256_SIZE], const char *text, struct api_signature *signature);
// "KEY TIME NONCE MAC", at most 160 characters.
void api_signature_print(const struct api_signature *signature, char text[160]);
int api_signature_parse(const char *text, struct api_signature *signature)
    __attribute__((warn_unused_result));

// The secret with which a box signs requests, from its key for tickets.
void api_box_secret(const uint8_t key[SHA256_SIZE], uint8_t secret[SHA256_SIZE]);

// What proves an answer: hexadecimal HMAC-SHA256 with the secret that the asker and the broker have in
// common, over the request's nonce, the status and the body. In the header API_PROOF_HEADER, behind
// "Rgpu ". With munge the asker makes up a secret and seals it in the credential, for the broker alone;
// its nonce is API_MUNGE_NONCE.
#define API_PROOF_HEADER "Authentication-Info"
#define API_MUNGE_NONCE "munge"

void api_prove(const uint8_t secret[SHA256_SIZE], const char *nonce, int status, const void *body,
               size_t size, char proof[API_DIGEST_TEXT]);
// `header`: the value of API_PROOF_HEADER, or NULL.
bool api_is_proven(const uint8_t secret[SHA256_SIZE], const char *nonce, int status,
                   const void *body, size_t size, const char *header);

#endif
