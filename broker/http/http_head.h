// SPDX-License-Identifier: BSD-3-Clause
// Parses the head of an HTTP/1.1 request: the request line and the headers. Unauthenticated hosts
// can send one, so the parser refuses everything that is malformed or ambiguous.
#ifndef RGPU_BROKER_HTTP_HEAD_H
#define RGPU_BROKER_HTTP_HEAD_H

#include <event2/http.h>
#include <stdbool.h>
#include <stddef.h>

enum { HTTP_HEAD_MAX = 16384, HTTP_BODY_MAX = 1 << 20 };

// A parsed head. The strings point into the parsed buffer.
struct http_head {
    enum evhttp_cmd_type method; // 0: unknown method
    const char *method_name;
    const char *target;        // path and query, as they were sent
    const char *authorization; // value of the header, or NULL, as all strings below
    const char *body_digest;   // hexadecimal SHA-256 of the body, from the header Content-SHA256
    const char *host, *origin, *fetch_site, *content_type;
    size_t body_size;
    bool keep_alive;
    bool expects_continue; // the client waits for "100 Continue" before it sends the body
};

// Parses a head in place. TEXT has SIZE bytes, which end with an empty line, and a NUL after them.
// Returns 0, or the HTTP status of the refusal and its reason in *WHY.
int http_head_parse(char *text, size_t size, struct http_head *head, const char **why)
    __attribute__((warn_unused_result));

#endif
