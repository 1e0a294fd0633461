// SPDX-License-Identifier: BSD-3-Clause
// Sends an HTTP request and reads the answer, within a deadline. The broker's client uses this
// instead of a large library, whose start-up time every job step of a cluster would pay.
#ifndef RGPU_COMMON_HTTP_EXCHANGE_H
#define RGPU_COMMON_HTTP_EXCHANGE_H

#include <stddef.h>

#include "common/net/endpoint.h"

#define HTTP_ANSWER_MAX (64u << 20)

struct http_request {
    const char *method, *path;
    const char *host;    // value of the Host header
    const char *headers; // complete lines, each ending with \r\n; may be ""
    const char *body;    // may be ""
};

struct http_answer {
    int status;
    char *body; // ends with a NUL; the caller frees it, after erasing secrets in it
    size_t size;
    char proof[128]; // value of the header Authentication-Info, or ""
};

// Returns 0, -ETIMEDOUT, -EHOSTUNREACH (unknown name), -EPROTO (malformed answer), -EMSGSIZE (above
// HTTP_ANSWER_MAX), or an error of the connection.
int http_exchange(const struct endpoint *endpoint, unsigned timeout_ms,
                  const struct http_request *request, struct http_answer *answer)
    __attribute__((warn_unused_result));

#endif
