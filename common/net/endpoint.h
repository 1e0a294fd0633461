// SPDX-License-Identifier: BSD-3-Clause
// Addresses of boxes as text ("host:port", "[ipv6]:port", "unix:/path") and as sockets.
#ifndef RGPU_COMMON_ENDPOINT_H
#define RGPU_COMMON_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ENDPOINT_DEFAULT_PORT = 7300,
    ENDPOINT_HOST_MAX = 255,
    ENDPOINT_TEXT_MAX = ENDPOINT_HOST_MAX + 16,
};

struct endpoint {
    bool is_unix;                     // host is the path of a unix socket
    char host[ENDPOINT_HOST_MAX + 1]; // name or address, without brackets; empty: every address
    uint16_t port;
};

// DEFAULT_PORT stands in where the text names none; 0 makes the port obligatory. -EINVAL.
int endpoint_parse(const char *text, uint16_t default_port, struct endpoint *out)
    __attribute__((warn_unused_result));

// Writes the form that endpoint_parse reads; TEXT holds ENDPOINT_TEXT_MAX bytes.
void endpoint_format(const struct endpoint *endpoint, char *text);

// Splits "a:1,b:2" and parses every part. The number of endpoints, -EINVAL, or -E2BIG above MAX.
int endpoint_parse_list(const char *text, uint16_t default_port, struct endpoint *out, size_t max)
    __attribute__((warn_unused_result));

// Writes into PROBLEM why endpoint_parse_list() refuses TEXT, with the part that it refuses.
void endpoint_list_problem(const char *text, uint16_t default_port, size_t max, char *problem,
                           size_t room);

// A connected, non-blocking, close-on-exec socket (TCP: no Nagle, keepalive on), trying every
// address of the name within TIMEOUT_MS. -errno of the last try, -EHOSTUNREACH where the name has
// no address, -ETIMEDOUT. Resolving a name is the C library's and may take longer.
int endpoint_connect(const struct endpoint *endpoint, int timeout_ms)
    __attribute__((warn_unused_result));

// A listening, non-blocking, close-on-exec socket; *port is the one bound (port 0: the kernel's
// choice). A stale unix socket is replaced, a live one is -EADDRINUSE.
int endpoint_listen(const struct endpoint *endpoint, int backlog, uint16_t *port)
    __attribute__((warn_unused_result));

// Returns the origin by which the connected FD's peer is counted: its IPv4 address, its IPv6
// network (/64), or its user over a unix socket. Zeros if unknown.
enum { ENDPOINT_ORIGIN_BYTES = 9 };
void endpoint_origin(int fd, uint8_t origin[ENDPOINT_ORIGIN_BYTES]);
// The peer of a connected socket as text: "10.0.0.1:4711", "[::1]:4711", "unix:pid=812,uid=1000".
void endpoint_peer_text(int fd, char *text, size_t size);

#endif
