// SPDX-License-Identifier: BSD-3-Clause
// Sends one request to an HTTP server and reads its answer, within a deadline. The broker's client
// needs no more, and so no step of a cluster pays for the start-up time of a large library.
#ifndef RGPU_COMMON_HTTP_EXCHANGE_H
#define RGPU_COMMON_HTTP_EXCHANGE_H

#include <stddef.h>

#include "common/net/endpoint.h"

#define HTTP_ANSWER_MAX (64u << 20)

struct http_request {
    const char *method, *path;
    const char *host;    // as in the Host header
    const char *headers; // complete lines, each with its \r\n; may be ""
    const char *body;    // may be ""
};

struct http_answer {
    int status;
    char *body; // ends in a zero; the caller overwrites its secrets and frees it
    size_t size;
    char proof[128]; // the value of Authentication-Info, or ""
};

// -ETIMEDOUT, -EHOSTUNREACH (the name is not known), another -errno of the connection, -EPROTO (not
// HTTP as the broker speaks it), -EMSGSIZE.
int http_exchange(const struct endpoint *endpoint, unsigned timeout_ms,
                  const struct http_request *request, struct http_answer *answer)
    __attribute__((warn_unused_result));

#endif
