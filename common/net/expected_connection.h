// SPDX-License-Identifier: BSD-3-Clause
// Connections that a worker expects beside the one of its client: of another box's worker, or
// further ones of its client. The connecting end proves a token to the worker's supervisor inside
// TLS, which ends then; the supervisor hands the connection over. The two ends share a secret since
// then, and may protect the rest with it.
#ifndef RGPU_COMMON_EXPECTED_CONNECTION_H
#define RGPU_COMMON_EXPECTED_CONNECTION_H

#include <stdbool.h>

#include "common/net/control.h"
#include "common/security/tls.h"

// The token's name in TLS: the session that expects it, and its number there.
enum { EXPECTED_CONNECTION_NAME_BYTES = 10 + 16 + 1 + 8 };
bool expected_connection_is_name(const void *identity, size_t size);
int expected_connection_parse(const void *identity, uint64_t *session, uint32_t *number);

// The side that connects, on a non-blocking socket until DEADLINE of clock_ms(): 0 when the
// supervisor has taken it, and the secret that the two ends share. -errno.
int expected_connection_prove(int fd, uint64_t session, uint32_t number,
                              const uint8_t token[CONTROL_TOKEN_BYTES], int64_t deadline,
                              uint8_t secret[TLS_SECRET_BYTES]) __attribute__((warn_unused_result));

// Either end, CALLED by the other or not: TLS for data with the secret.
int expected_connection_protect(int fd, bool called, uint8_t secret[TLS_SECRET_BYTES],
                                int64_t deadline, struct tls **out)
    __attribute__((warn_unused_result));

#endif
