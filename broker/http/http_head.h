// SPDX-License-Identifier: BSD-3-Clause
// Parses the head of an HTTP/1.1 request: everything before the body. Any host that can connect may
// send one before it is authenticated, so anything unclear is refused, never guessed.
#ifndef RGPU_BROKER_HTTP_HEAD_H
#define RGPU_BROKER_HTTP_HEAD_H

#include <event2/http.h>
#include <stdbool.h>
#include <stddef.h>

enum { HTTP_HEAD_MAX = 16384, HTTP_BODY_MAX = 1 << 20 };

// The texts point into the parsed buffer.
struct http_head {
    enum evhttp_cmd_type method; // 0: an unsupported method
    const char *method_name;
    const char *target;        // path and query, as they were sent
    const char *authorization; // or NULL, as all texts below
    const char *body_digest;   // hexadecimal SHA-256 of the body, as the sender states it
    const char *host, *origin, *fetch_site, *content_type;
    size_t body_size;
    bool keep_alive;
    bool expects_continue; // the sender waits for "100 Continue" before the body
};

// Parses a head in place: `text` has `size` bytes, including the empty line at the end, followed by
// a zero. Returns 0, or the HTTP status of the refusal with the reason in *why.
int http_head_parse(char *text, size_t size, struct http_head *head, const char **why)
    __attribute__((warn_unused_result));

#endif
