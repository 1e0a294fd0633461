// SPDX-License-Identifier: BSD-3-Clause
// Addresses of boxes, as text ("host:port", "[ipv6]:port", "unix:/path") and as sockets.
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
    bool is_unix;                     // `host` is the path of a unix socket
    char host[ENDPOINT_HOST_MAX + 1]; // name or address, without brackets; "": all addresses
    uint16_t port;
};

// Parses an address. DEFAULT_PORT is used if TEXT has no port; 0: a port is required. Returns 0 or
// -EINVAL.
int endpoint_parse(const char *text, uint16_t default_port, struct endpoint *out)
    __attribute__((warn_unused_result));

// Formats an address for endpoint_parse. TEXT has ENDPOINT_TEXT_MAX bytes.
void endpoint_format(const struct endpoint *endpoint, char *text);

// Parses addresses separated by commas. Returns their number, -EINVAL, or -E2BIG if there are more
// than MAX.
int endpoint_parse_list(const char *text, uint16_t default_port, struct endpoint *out, size_t max)
    __attribute__((warn_unused_result));

// Writes to PROBLEM why endpoint_parse_list() rejects TEXT, and the rejected part.
void endpoint_list_problem(const char *text, uint16_t default_port, size_t max, char *problem,
                           size_t room);

// Returns true if this host shares memory with the GPUs of BOXES boxes: of one, that is here by its
// list ADDRESSES, unless TRANSPORT (RGPU_TRANSPORT; may be NULL) rules it out. Looks names up.
bool endpoint_boxes_share_memory(size_t boxes, const char *addresses, const char *transport);

// Returns a connected, non-blocking, close-on-exec socket (TCP: no delay, keepalive), or -errno.
// Tries each address of the name, within TIMEOUT_MS in all; resolving the name may take longer.
// -EHOSTUNREACH: the name has no address; -ETIMEDOUT; else the error of the last address.
int endpoint_connect(const struct endpoint *endpoint, int timeout_ms)
    __attribute__((warn_unused_result));

// Returns a listening, non-blocking, close-on-exec socket, or -errno. *PORT is the port (the kernel
// chooses for port 0). Replaces the file of a dead unix socket; -EADDRINUSE if it is in use.
int endpoint_listen(const struct endpoint *endpoint, int backlog, uint16_t *port)
    __attribute__((warn_unused_result));

// Sets ORIGIN to the identity for which the limits of one client count: the peer's IPv4 address,
// IPv6 network (/64), or user id on a unix socket. Zeros if unknown.
enum { ENDPOINT_ORIGIN_BYTES = 9 };
void endpoint_origin(int fd, uint8_t origin[ENDPOINT_ORIGIN_BYTES]);
// Formats the peer of a connected socket: "10.0.0.1:4711", "[::1]:4711", "unix:pid=812,uid=1000".
void endpoint_peer_text(int fd, char *text, size_t size);

#endif
