// SPDX-License-Identifier: BSD-3-Clause
// A client for the tests of rgpud: opens a session as the client library does and does what its
// arguments say. usage: probe_client HOST:PORT [COMMAND...]
//   hold          says "open session=N ..." and waits for the end of its standard input
//   send BYTES    sends them to the worker;  echo BYTES  also awaits them back
//   closed        waits until the worker closes the connection
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/session_client.h"
#include "common/security/ticket.h"

static struct control_stream stream;

static void expect(bool condition, const char *what)
{
    if (condition)
        return;
    printf("failed %s: %s\n", what, strerror(errno));
    exit(1);
}

static void propose(void)
{
    struct session_error error;

    if (session_propose_transport(&stream, "shm", "a try", &error))
        printf("refused transport=shm text=\"%s\" result=%d\n", error.text, error.result);
    if (session_propose_transport(&stream, "tcp", "the probe said so", &error)) {
        printf("error result=%d %s\n", error.result, error.text);
        exit(1);
    }
}

static ssize_t say(const char *bytes)
{
    return stream.tls ? tls_send(stream.tls, bytes, strlen(bytes))
                      : send(stream.fd, bytes, strlen(bytes), MSG_NOSIGNAL);
}

static ssize_t hear(char *buffer, size_t size)
{
    return stream.tls ? tls_receive(stream.tls, buffer, size)
                      : recv(stream.fd, buffer, size, MSG_WAITALL);
}

static void run_command(const char *command, const char *bytes)
{
    char buffer[256];

    if (!strcmp(command, "hold")) {
        while (read(STDIN_FILENO, buffer, sizeof(buffer)) > 0)
            ;
    } else if (!strcmp(command, "closed")) {
        expect(hear(buffer, 1) <= 0, "waiting for the end");
        puts("closed by the box");
    } else {
        expect(say(bytes) == (ssize_t)strlen(bytes), "send");
        if (!strcmp(command, "echo")) {
            for (size_t got = 0; got < strlen(bytes);) {
                ssize_t n = hear(buffer + got, strlen(bytes) - got);
                expect(n > 0, "echo");
                got += (size_t)n;
            }
            expect(!memcmp(buffer, bytes, strlen(bytes)), "the same bytes");
            puts("echoed");
        }
    }
}

static void take_ticket(struct ticket_bundle *bundle, struct session_request *request)
{
    if (ticket_bundle_load(bundle) || !bundle->count)
        return;
    request->token = bundle->entries[0].token;
    request->box = bundle->entries[0].box;
}

static enum control_protection protection_wanted(void)
{
    const char *text = getenv("RGPU_PROTECTION");

    return !text                      ? CONTROL_PROTECTION_NONE
           : !strcmp(text, "privacy") ? CONTROL_PROTECTION_PRIVACY
                                      : CONTROL_PROTECTION_AUTHENTICATE;
}

int main(int argc, char **argv)
{
    struct session_request request = {0};
    struct ticket_bundle bundle = {0};
    struct session_welcome welcome;
    struct session_error error;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2 || endpoint_parse(argv[1], 0, &request.endpoint)) {
        printf("usage: probe_client HOST:PORT [COMMAND...]\n");
        return 2;
    }
    take_ticket(&bundle, &request);
    request.protection = protection_wanted();
    if (session_open(&request, &welcome, &stream, &error)) {
        printf("error result=%d %s\n", error.result, error.text);
        ticket_bundle_free(&bundle);
        return 1;
    }
    propose();
    struct tls *tls;
    expect(!session_stream_release(&stream, welcome.protection, &tls), "the end of TLS");
    stream.tls = tls;
    printf("open session=%llu box=%s protection=%s snapshot=\"%.*s\"\n",
           (unsigned long long)welcome.session, welcome.box,
           control_protection_name(welcome.protection), (int)welcome.offer.snapshot_size,
           (const char *)welcome.offer.snapshot);
    session_welcome_free(&welcome);
    fcntl(stream.fd, F_SETFL, 0);
    for (int i = 2; i < argc; i++) {
        bool takes_bytes = !strcmp(argv[i], "send") || !strcmp(argv[i], "echo");
        run_command(argv[i], takes_bytes && i + 1 < argc ? argv[i + 1] : "");
        i += takes_bytes;
    }
    session_stream_close(&stream);
    ticket_bundle_free(&bundle);
    return 0;
}
