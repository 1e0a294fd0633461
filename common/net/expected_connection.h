// SPDX-License-Identifier: BSD-3-Clause
// Further connections to a worker, besides its client's first one: from the worker of another box,
// or from its client. The connecting side proves to the worker's supervisor, by TLS, that it knows
// a token; then TLS ends, and the supervisor passes the connection to the worker. Both sides have a
// shared secret from this TLS session, with which they can start TLS again.
#ifndef RGPU_COMMON_EXPECTED_CONNECTION_H
#define RGPU_COMMON_EXPECTED_CONNECTION_H

#include <stdbool.h>

#include "common/net/control.h"
#include "common/security/tls.h"

// The TLS identity of a token names the session that expects the connection, and a number.
enum { EXPECTED_CONNECTION_NAME_BYTES = 10 + 16 + 1 + 8 };
bool expected_connection_is_name(const void *identity, size_t size);
int expected_connection_parse(const void *identity, uint64_t *session, uint32_t *number);

// Connecting side: proves TOKEN on a non-blocking socket until DEADLINE (clock_ms()). Returns 0 and
// the shared SECRET once the supervisor has accepted, or -errno.
int expected_connection_prove(int fd, uint64_t session, uint32_t number,
                              const uint8_t token[CONTROL_TOKEN_BYTES], int64_t deadline,
                              uint8_t secret[TLS_SECRET_BYTES]) __attribute__((warn_unused_result));

// Either side: starts TLS with the shared secret. CALLED: this side accepted the connection.
int expected_connection_protect(int fd, bool called, uint8_t secret[TLS_SECRET_BYTES],
                                int64_t deadline, struct tls **out)
    __attribute__((warn_unused_result));

#endif
