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

#include "common/session_client.h"
#include "common/ticket.h"

static int fd;

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

    if (session_propose_transport(fd, CONTROL_TRANSPORT_SHM, "a try", &error))
        printf("refused transport=shm text=\"%s\" result=%d\n", error.text, error.result);
    if (session_propose_transport(fd, CONTROL_TRANSPORT_TCP, "the probe said so", &error)) {
        printf("error result=%d %s\n", error.result, error.text);
        exit(1);
    }
}

static void run_command(const char *command, const char *bytes)
{
    char buffer[256];

    if (!strcmp(command, "hold")) {
        while (read(STDIN_FILENO, buffer, sizeof(buffer)) > 0)
            ;
    } else if (!strcmp(command, "closed")) {
        expect(recv(fd, buffer, sizeof(buffer), 0) <= 0, "waiting for the end");
        puts("closed by the box");
    } else {
        expect(send(fd, bytes, strlen(bytes), MSG_NOSIGNAL) == (ssize_t)strlen(bytes), "send");
        if (!strcmp(command, "echo")) {
            expect(recv(fd, buffer, strlen(bytes), MSG_WAITALL) == (ssize_t)strlen(bytes), "echo");
            puts("echoed");
        }
    }
}

static char *token_from_environment(struct ticket_bundle *bundle)
{
    if (ticket_bundle_load(bundle) || !bundle->count)
        return NULL;
    return (char *)bundle->entries[0].token;
}

int main(int argc, char **argv)
{
    struct session_request request = {.transport = CONTROL_TRANSPORT_AUTOMATIC};
    struct ticket_bundle bundle = {0};
    struct session_welcome welcome;
    struct session_error error;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2 || endpoint_parse(argv[1], 0, &request.endpoint)) {
        printf("usage: probe_client HOST:PORT [COMMAND...]\n");
        return 2;
    }
    request.token = token_from_environment(&bundle);
    if (session_open(&request, &welcome, &fd, &error)) {
        printf("error result=%d %s\n", error.result, error.text);
        ticket_bundle_free(&bundle);
        return 1;
    }
    propose();
    printf("open session=%llu box=%s snapshot=\"%.*s\"\n", (unsigned long long)welcome.session,
           welcome.box, (int)welcome.offer.snapshot_size, (const char *)welcome.offer.snapshot);
    session_welcome_free(&welcome);
    fcntl(fd, F_SETFL, 0);
    for (int i = 2; i < argc; i++) {
        bool takes_bytes = !strcmp(argv[i], "send") || !strcmp(argv[i], "echo");
        run_command(argv[i], takes_bytes && i + 1 < argc ? argv[i + 1] : "");
        i += takes_bytes;
    }
    close(fd);
    ticket_bundle_free(&bundle);
    return 0;
}
