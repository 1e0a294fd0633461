// SPDX-License-Identifier: BSD-3-Clause
// A client of etcd's JSON interface (/v3/...). It calls one of several endpoints, and the next one
// when that does not answer. A client is for one thread at a time.
#ifndef RGPU_BROKER_ETCD_H
#define RGPU_BROKER_ETCD_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct etcd;

struct etcd_access {
    char *const *endpoints;      // URLs, NULL at the end
    const char *ca, *cert, *key; // PEM files; NULL or empty: none
};

// ACCESS must outlive the client. Returns 0, -ENOMEM, or -ENOTSUP if libcurl is missing, here or
// when the program was built.
int etcd_open(const struct etcd_access *access, struct etcd **etcd)
    __attribute__((warn_unused_result));
void etcd_close(struct etcd **etcd);

// Sends BODY, which the function takes over, to PATH, and waits up to TIMEOUT_MS for each endpoint.
// Returns the answer, which the caller releases, or NULL if no endpoint answers; etcd_error() has
// the reason. A change may have been made all the same.
json_t *etcd_call(struct etcd *etcd, const char *path, json_t *body, long timeout_ms);
const char *etcd_error(const struct etcd *etcd);

// ---- bytes in JSON (base64) ----

json_t *etcd_bytes(const void *bytes, size_t size);
json_t *etcd_text(const char *text);
// Decodes a string. Returns bytes with a '\0' after them, which the caller frees, or NULL.
uint8_t *etcd_decode(const json_t *string, size_t *size);
// Reads a number, which etcd writes as a string. Returns 0 if it is missing.
int64_t etcd_number(const json_t *object, const char *name);

#endif
