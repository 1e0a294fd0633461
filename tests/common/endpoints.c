// SPDX-License-Identifier: BSD-3-Clause
// Addresses: every form that is read and printed, every form that is refused, and real sockets.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/net/endpoint.h"
#include "tests/tap.h"

static void parses(const char *text, const char *printed)
{
    struct endpoint endpoint;
    char back[ENDPOINT_TEXT_MAX] = "";

    if (!endpoint_parse(text, 7300, &endpoint))
        endpoint_format(&endpoint, back);
    is_str(back, printed, "%s", text);
}

static void refuses(const char *text)
{
    struct endpoint endpoint;

    is_int(endpoint_parse(text, 7300, &endpoint), -EINVAL, "refused: \"%s\"", text);
}

static void forms(void)
{
    struct endpoint list[2];
    struct endpoint one;

    parses("10.0.0.1:80", "10.0.0.1:80");
    parses("box7.example:9", "box7.example:9");
    parses("box7", "box7:7300");
    parses("[::1]:80", "[::1]:80");
    parses("[fe80::1%eth0]", "[fe80::1%eth0]:7300");
    parses("unix:/run/x.sock", "unix:/run/x.sock");
    parses(":80", ":80");
    refuses("");
    refuses("::1");
    refuses("host:");
    refuses("host:65536");
    refuses("host:-1");
    refuses("host:80x");
    refuses("[::1");
    refuses("[::1]80");
    refuses("ho st:80");
    refuses("unix:relative");
    is_int(endpoint_parse("host", 0, &one), -EINVAL, "a port can be obligatory");
    is_int(endpoint_parse_list("a:1, [::1]:2,", 0, list, 2), 2, "a list");
    is_int(list[1].port, 2, "in order");
    is_int(endpoint_parse_list("a:1,b:2,c:3", 0, list, 2), -E2BIG, "a list too long");
    is_int(endpoint_parse_list("a:1,b", 0, list, 2), -EINVAL, "one bad part spoils a list");
    is_int(endpoint_parse_list("", 0, list, 2), 0, "an empty list");
}

static void talk(const char *text)
{
    struct endpoint endpoint;
    char peer[128], byte = 'x';
    uint16_t port;

    if (endpoint_parse(text, 0, &endpoint))
        bail("%s", text);
    int listener = endpoint_listen(&endpoint, 4, &port);
    if (listener < 0) {
        skip(3, "cannot listen on %s: %s", text, strerror(-listener));
        return;
    }
    endpoint.port = port;
    int client = endpoint_connect(&endpoint, 2000);
    ok(client >= 0, "connect to %s", text);
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    poll(&wait, 1, 2000);
    int server = accept(listener, NULL, NULL);
    ok(send(client, &byte, 1, 0) == 1 && recv(server, &byte, 1, 0) == 1, "a byte gets through");
    endpoint_peer_text(server, peer, sizeof(peer));
    ok(strstr(peer, endpoint.is_unix ? "unix:pid=" : endpoint.host), "the peer is named: %s", peer);
    close(server);
    close(client);
    if (!endpoint.is_unix) {
        close(listener);
        return;
    }
    is_int(endpoint_listen(&endpoint, 4, &port), -EADDRINUSE, "a live unix socket is left alone");
    close(listener);
    listener = endpoint_listen(&endpoint, 4, &port);
    ok(listener >= 0, "a stale one is replaced");
    close(listener);
    unlink(endpoint.host);
}

static void failures(void)
{
    struct endpoint endpoint = {.host = "127.0.0.1", .port = 1};
    uint16_t port;

    is_int(endpoint_connect(&endpoint, 1000), -ECONNREFUSED, "a closed port");
    // A listener with a full backlog takes no connection: the time-out must hold.
    endpoint.port = 0;
    int listener = endpoint_listen(&endpoint, 0, &port), held[8], count = 0, last = 0;
    endpoint.port = port;
    while (count < 8 && (last = endpoint_connect(&endpoint, 200)) >= 0)
        held[count++] = last;
    is_int(last, -ETIMEDOUT, "a box that does not answer");
    pid_t patient = fork();
    if (patient == 0)
        _exit(endpoint_connect(&endpoint, 3600 * 1000) == -ETIMEDOUT);
    is_int(endpoint_connect(&endpoint, 200), -ETIMEDOUT, "nor the next time");
    ok(waitpid(patient, NULL, WNOHANG) == 0, "whose time-out is longer waits longer");
    kill(patient, SIGKILL);
    waitpid(patient, NULL, 0);
    while (count)
        close(held[--count]);
    close(listener);
}

int main(void)
{
    char path[64];

    forms();
    talk("127.0.0.1:0");
    talk("[::1]:0");
    snprintf(path, sizeof(path), "unix:/tmp/rgpu-endpoint-%d", (int)getpid());
    talk(path);
    failures();
    return done();
}
