// SPDX-License-Identifier: BSD-3-Clause
#include "common/net/http_exchange.h"
#include "common/security/api_auth.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { CONNECT_MAX_MS = 5000, HEAD_MAX = 65536 };

struct exchange {
    int fd;
    int64_t deadline; // monotonic milliseconds
    char *text;       // the received bytes, with a zero after them
    size_t size, room;
};

static int http_exchange_await(const struct exchange *exchange, short events)
{
    struct pollfd wait = {.fd = exchange->fd, .events = events};
    int64_t left = exchange->deadline - clock_ms();
    int n = left > 0 ? poll(&wait, 1, (int)left) : 0;

    return n > 0 || (n < 0 && errno == EINTR) ? 0 : n == 0 ? -ETIMEDOUT : -errno;
}

static int http_exchange_send_all(const struct exchange *exchange, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t n = send(exchange->fd, text, size, MSG_NOSIGNAL);
        int error;

        if (n >= 0) {
            text += n;
            size -= (size_t)n;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
        error = http_exchange_await(exchange, POLLOUT);
        if (error)
            return error;
    }
    return 0;
}

static int send_request(const struct exchange *exchange, const struct http_request *request)
{
    char *text;
    int error, size = asprintf(&text,
                               "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n"
                               "Content-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n%s",
                               request->method, request->path, request->host, strlen(request->body),
                               request->headers, request->body);

    if (size < 0)
        return -ENOMEM;
    error = http_exchange_send_all(exchange, text, (size_t)size);
    explicit_bzero(text, (size_t)size);
    free(text);
    return error;
}

// Not realloc: a ticket may be in it.
static int http_exchange_grow(struct exchange *exchange)
{
    size_t room = exchange->room ? exchange->room * 2 : 16384;
    char *text;

    if (room > HTTP_ANSWER_MAX)
        return -EMSGSIZE;
    text = malloc(room + 1);
    if (!text)
        return -ENOMEM;
    if (exchange->text) {
        memcpy(text, exchange->text, exchange->size + 1);
        explicit_bzero(exchange->text, exchange->size);
        free(exchange->text);
    }
    exchange->text = text;
    exchange->room = room;
    return 0;
}

// 1: something has arrived; 0: the peer has closed.
static int http_exchange_receive(struct exchange *exchange)
{
    int error = exchange->size == exchange->room ? http_exchange_grow(exchange) : 0;

    while (!error) {
        ssize_t n =
            recv(exchange->fd, exchange->text + exchange->size, exchange->room - exchange->size, 0);
        if (n >= 0) {
            exchange->size += (size_t)n;
            exchange->text[exchange->size] = '\0';
            return n > 0;
        }
        error = errno == EAGAIN || errno == EINTR ? http_exchange_await(exchange, POLLIN) : -errno;
    }
    return error;
}

// Returns the start of the body; 0 while the head is not complete.
static size_t head_size(const struct exchange *exchange)
{
    const char *end = exchange->text ? strstr(exchange->text, "\r\n\r\n") : NULL;

    return end ? (size_t)(end - exchange->text) + 4 : 0;
}

static const char *find_header(const struct exchange *exchange, size_t head, const char *name)
{
    const char *line = strstr(exchange->text, "\r\n") + 2, *end = exchange->text + head;
    size_t size = strlen(name);

    while (line < end - 2) {
        if (!strncasecmp(line, name, size) && line[size] == ':') {
            line += size + 1;
            return line + strspn(line, " \t");
        }
        line = strstr(line, "\r\n") + 2;
    }
    return NULL;
}

static int read_head(const struct exchange *exchange, size_t head, struct http_answer *answer,
                     size_t *length)
{
    int *status = &answer->status;
    const char *proof = find_header(exchange, head, API_PROOF_HEADER);
    const char *value = find_header(exchange, head, "Content-Length");
    unsigned long long number;
    char *end;

    if (strncmp(exchange->text, "HTTP/1.", 7) || head < 15 || exchange->text[8] != ' ')
        return -EPROTO;
    *status = atoi(exchange->text + 9);
    if (*status < 100 || *status > 599 || find_header(exchange, head, "Transfer-Encoding"))
        return -EPROTO;
    if (proof)
        snprintf(answer->proof, sizeof(answer->proof), "%.*s", (int)strcspn(proof, "\r"), proof);
    *length = SIZE_MAX; // until the peer closes
    if (!value)
        return 0;
    number = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\r')
        return -EPROTO;
    if (number > HTTP_ANSWER_MAX)
        return -EMSGSIZE;
    *length = (size_t)number;
    return 0;
}

static int http_exchange_take_body(struct exchange *exchange, size_t head, size_t length,
                                   struct http_answer *answer)
{
    int more = 1;

    while (more > 0 && exchange->size - head < length)
        more = http_exchange_receive(exchange);
    if (more < 0)
        return more;
    if (length == SIZE_MAX)
        length = exchange->size - head;
    if (exchange->size - head < length)
        return -EPROTO; // closed in the middle
    answer->body = malloc(length + 1);
    if (!answer->body)
        return -ENOMEM;
    memcpy(answer->body, exchange->text + head, length);
    answer->body[length] = '\0';
    answer->size = length;
    return 0;
}

static int http_exchange_take_answer(struct exchange *exchange, struct http_answer *answer)
{
    size_t head, length = 0;
    int more = 1, error;

    while ((head = head_size(exchange)) == 0 && more > 0) {
        if (exchange->size > HEAD_MAX)
            return -EPROTO;
        more = http_exchange_receive(exchange);
    }
    if (head == 0)
        return more < 0 ? more : -EPROTO;
    error = read_head(exchange, head, answer, &length);
    return error ? error : http_exchange_take_body(exchange, head, length, answer);
}

int http_exchange(const struct endpoint *endpoint, unsigned timeout_ms,
                  const struct http_request *request, struct http_answer *answer)
{
    struct exchange exchange = {.deadline = clock_ms() + timeout_ms};
    int error;

    memset(answer, 0, sizeof(*answer));
    exchange.fd = endpoint_connect(endpoint, (int)(timeout_ms < CONNECT_MAX_MS ? timeout_ms
                                                                               : CONNECT_MAX_MS));
    if (exchange.fd < 0)
        return exchange.fd;
    error = send_request(&exchange, request);
    if (!error)
        error = http_exchange_take_answer(&exchange, answer);
    close(exchange.fd);
    if (exchange.text) {
        explicit_bzero(exchange.text, exchange.size);
        free(exchange.text);
    }
    return error;
}
