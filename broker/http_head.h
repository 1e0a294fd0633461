// SPDX-License-Identifier: BSD-3-Clause
// The head of an HTTP/1.1 request: everything before the body. It comes from whoever can connect,
// before anybody knows who that is, so what is not understood is refused, never guessed.
#ifndef RGPU_BROKER_HTTP_HEAD_H
#define RGPU_BROKER_HTTP_HEAD_H

#include <event2/http.h>
#include <stdbool.h>
#include <stddef.h>

enum { HTTP_HEAD_MAX = 16384, HTTP_BODY_MAX = 1 << 20 };

// The texts point into what was parsed.
struct http_head {
    enum evhttp_cmd_type method; // 0: one that nobody here serves
    const char *method_name;
    const char *target;        // path and query, as they were sent
    const char *authorization; // or NULL, as each of those below
    const char *body_digest;   // hexadecimal SHA-256 that the sender gives of the body
    const char *host, *origin, *fetch_site, *content_type;
    size_t body_size;
    bool keep_alive;
    bool expects_continue; // the body comes once we say so
};

// Takes a head apart in place: `text` has `size` bytes, the empty line at the end included, and a
// zero behind them. 0, or the status to refuse it with, and *why.
int http_head_parse(char *text, size_t size, struct http_head *head, const char **why)
    __attribute__((warn_unused_result));

#endif
