// SPDX-License-Identifier: BSD-3-Clause
// An HTTP answer is taken whole, however it arrives; whatever is not one is an error in time.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/net/http_exchange.h"
#include "tests/tap.h"

static char path[64];

// Serves one connection: sends `pieces`, each when the peer may have read the one before.
static pid_t serve(const char *const *pieces, bool stay)
{
    struct endpoint endpoint = {.is_unix = true};
    uint16_t port;
    pid_t pid;
    int listener;

    snprintf(endpoint.host, sizeof(endpoint.host), "%s", path);
    unlink(path);
    listener = endpoint_listen(&endpoint, 4, &port);
    if (listener < 0)
        bail("listen: %d", listener);
    pid = fork();
    if (pid == 0) {
        char request[4096];
        int fd;
        while ((fd = accept(listener, NULL, NULL)) < 0 && errno == EAGAIN)
            usleep(1000);
        if (read(fd, request, sizeof(request)) <= 0)
            _exit(1);
        for (; *pieces; pieces++) {
            if (write(fd, *pieces, strlen(*pieces)) < 0)
                _exit(1);
            usleep(2000);
        }
        if (stay)
            pause();
        _exit(0);
    }
    close(listener);
    return pid;
}

static int ask(const char *const *pieces, bool stay, unsigned timeout_ms,
               struct http_answer *answer)
{
    struct http_request request = {
        .method = "POST", .path = "/x", .host = "h", .headers = "", .body = "{}"};
    struct endpoint endpoint = {.is_unix = true};
    pid_t pid = serve(pieces, stay);
    int error;

    snprintf(endpoint.host, sizeof(endpoint.host), "%s", path);
    error = http_exchange(&endpoint, timeout_ms, &request, answer);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return error;
}

static void is_answer(const char *const *pieces, bool stay, int status, const char *body,
                      const char *what)
{
    struct http_answer answer;
    int error = ask(pieces, stay, 5000, &answer);

    is_int(error, 0, "%s", what);
    is_int(answer.status, status, "its status");
    is_str(error ? "" : answer.body, body, "its body");
    free(answer.body);
}

static void is_error(const char *piece, bool stay, int want, const char *what)
{
    const char *pieces[] = {piece, NULL};
    struct http_answer answer = {0};

    is_int(ask(pieces, stay, stay ? 100 : 5000, &answer), want, "%s", what);
    free(answer.body);
}

int main(void)
{
    snprintf(path, sizeof(path), "/tmp/rgpu-http.%d", (int)getpid());
    is_answer((const char *[]){"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nA: b\r\n\r\nhello", NULL},
              true, 200, "hello", "an answer on a connection that stays open");
    is_answer((const char *[]){"HTTP/1.1 40", "9 No\r\nContent-Leng", "th: 2\r\n\r", "\n{", "}",
                               NULL},
              true, 409, "{}", "one in small pieces");
    is_answer((const char *[]){"HTTP/1.0 200 OK\r\n\r\nto the ", "end", NULL}, false, 200,
              "to the end", "one that ends with its connection");
    is_answer((const char *[]){"HTTP/1.1 204 None\r\nContent-Length: 0\r\n\r\n", NULL}, true, 204,
              "", "an empty one");
    is_error("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", false, -EPROTO, "half a body");
    is_error("HTTP/1.1 200 OK\r\nContent-", false, -EPROTO, "half a head");
    is_error("", false, -EPROTO, "nothing");
    is_error("SSH-2.0-OpenSSH_9\r\n\r\n", false, -EPROTO, "another protocol");
    is_error("HTTP/1.1 2x\r\n\r\n", false, -EPROTO, "a bad status");
    is_error("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", false, -EPROTO, "a bad length");
    is_error("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", false, -EMSGSIZE,
             "a vast one");
    is_error("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, -EPROTO,
             "an encoding that it does not know");
    is_error("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true, -ETIMEDOUT,
             "a body that never comes");
    unlink(path);
    return done();
}
