// SPDX-License-Identifier: BSD-3-Clause
// Tests a client with a relay that tampers. For each byte of a login, in either direction, the
// relay changes it, drops it, doubles it or cuts the connection there. A login counts as untouched
// if the session opens and both sides have read the other's data.
//
// usage: tampered_login HOST:PORT STRIDE  (RGPU_TICKET holds the ticket)
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/session_client.h"
#include "common/security/ticket.h"
#include "tests/tap.h"

enum { CHANGE, DROP, DOUBLE, CUT, KINDS };
enum { TO_BOX, TO_CLIENT, DIRECTIONS };
enum { RECORD_MAX = 16384, IDLE_MS = 40, IDLE_CHANGED_MS = 200, HANDSHAKE_RECORD = 22 };

static const char *const kind_names[] = {"changed", "dropped", "doubled", "cut off"};
static const char *const direction_names[] = {"to the box", "to the client"};

static struct endpoint box, here;
static struct ticket_bundle bundle;
static int listener;

struct relay {
    int kind; // -1: none
    int direction;
    size_t at; // the byte
    uint8_t change;
    size_t passed[DIRECTIONS];
    uint8_t seen[DIRECTIONS][RECORD_MAX]; // what came, before it was tampered with
    bool tampered;
    int fds[DIRECTIONS]; // to which a direction goes
    atomic_bool done;    // the login has ended
};

// ---- the relay ----

static bool put(int fd, const uint8_t *bytes, size_t size)
{
    return !size || send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

// Forwards SIZE bytes. Returns false if the connection must be cut.
static bool forward(struct relay *relay, int direction, uint8_t *bytes, size_t size)
{
    size_t first = relay->passed[direction], offset = relay->at - first;
    int fd = relay->fds[direction];

    if (first + size <= RECORD_MAX)
        memcpy(relay->seen[direction] + first, bytes, size);
    relay->passed[direction] += size;
    if (relay->kind < 0 || direction != relay->direction || relay->at < first || offset >= size)
        return put(fd, bytes, size);
    relay->tampered = true;
    switch (relay->kind) {
    case CHANGE: bytes[offset] ^= relay->change; return put(fd, bytes, size);
    case DROP: return put(fd, bytes, offset) && put(fd, bytes + offset + 1, size - offset - 1);
    case DOUBLE: return put(fd, bytes, offset + 1) && put(fd, bytes + offset, size - offset);
    }
    put(fd, bytes, offset);
    return false;
}

static int accept_one(void)
{
    struct pollfd readable = {.fd = listener, .events = POLLIN};

    poll(&readable, 1, 20000);
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

// A client whose login is cut tries again.
static void refuse_more(const struct relay *relay)
{
    struct pollfd readable = {.fd = listener, .events = POLLIN};

    while (!atomic_load(&relay->done))
        if (poll(&readable, 1, 1) > 0)
            close(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
}

static void *relay_main(void *argument)
{
    struct relay *relay = argument;
    struct pollfd ends[DIRECTIONS];
    uint8_t bytes[4096];

    relay->fds[TO_CLIENT] = accept_one();
    relay->fds[TO_BOX] = endpoint_connect(&box, 5000);
    ends[TO_BOX] = (struct pollfd){.fd = relay->fds[TO_CLIENT], .events = POLLIN};
    ends[TO_CLIENT] = (struct pollfd){.fd = relay->fds[TO_BOX], .events = POLLIN};
    for (bool open = true; open;) {
        // If bytes are missing or a length changed, both sides wait in vain.
        int timeout = !relay->tampered ? 20000 : relay->kind == CHANGE ? IDLE_CHANGED_MS : IDLE_MS;
        if (poll(ends, 2, timeout) <= 0)
            break;
        for (int d = 0; open && d < DIRECTIONS; d++) {
            ssize_t n = ends[d].revents ? recv(ends[d].fd, bytes, sizeof(bytes), MSG_DONTWAIT) : -2;
            open = n == -2 || (n > 0 && forward(relay, d, bytes, (size_t)n));
        }
    }
    close(relay->fds[TO_BOX]);
    close(relay->fds[TO_CLIENT]);
    refuse_more(relay);
    return NULL;
}

// ---- logins ----

// The worker, too, must have found everything as it was: it answers.
static bool echoes(int fd)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    uint8_t byte = 'z';

    return put(fd, &byte, 1) && poll(&readable, 1, 20000) > 0 && recv(fd, &byte, 1, 0) == 1 &&
           byte == 'z';
}

static bool log_in(struct session_error *error)
{
    struct session_request request = {.endpoint = here,
                                      .token = bundle.entries[0].token,
                                      .box = bundle.entries[0].box,
                                      .connect_timeout_ms = 20000};
    static const char snapshot[] = "snapshot of the stub";
    struct session_welcome welcome;
    struct control_stream stream;
    struct tls *tls;
    bool good = false;

    error->text[0] = '\0';
    if (session_open(&request, &welcome, &stream, error))
        return false;
    if (!session_propose_transport(&stream, "tcp", "tcp is asked for", error) &&
        !session_stream_release(&stream, welcome.protection, &tls))
        good = welcome.protection == CONTROL_PROTECTION_AUTHENTICATE &&
               !strcmp(welcome.box, request.box) &&
               welcome.offer.snapshot_size == sizeof(snapshot) &&
               !memcmp(welcome.offer.snapshot, snapshot, sizeof(snapshot)) && echoes(stream.fd);
    session_welcome_free(&welcome);
    session_stream_close(&stream);
    return good;
}

static bool log_in_behind(struct relay *relay)
{
    struct session_error error;
    pthread_t thread;

    if (pthread_create(&thread, NULL, relay_main, relay))
        bail("no thread");
    bool good = log_in(&error);
    atomic_store(&relay->done, true);
    pthread_join(thread, NULL);
    if (relay->kind < 0 && !good)
        bail("an untouched login fails: %s", error.text);
    return good;
}

// Receivers of TLS ignore the version number of records that are not encrypted, as they must.
static bool is_ignored(const struct relay *login, int direction, size_t at)
{
    const uint8_t *seen = login->seen[direction];

    for (size_t start = 0; start + 5 <= login->passed[direction];) {
        size_t size = 5 + ((size_t)seen[start + 3] << 8 | seen[start + 4]);
        if (at < start + size)
            return seen[start] == HANDSHAKE_RECORD && (at == start + 1 || at == start + 2);
        start += size;
    }
    return false;
}

static void tamper(const struct relay *clean, int kind, int direction, size_t stride)
{
    size_t tried = 0, unnoticed = 0, first = 0;
    static struct relay relay;

    for (size_t at = (size_t)kind % stride; at < clean->passed[direction]; at += stride) {
        relay = (struct relay){
            .kind = kind, .direction = direction, .at = at, .change = (uint8_t)(1u << at % 8)};
        bool opened = log_in_behind(&relay);
        // Logins differ by some bytes in length, so this login's own bytes determine its end. The
        // echo after it, the last byte, does not belong to it.
        bool in_login = relay.tampered && at + 1 < relay.passed[direction] &&
                        !(kind == CHANGE && is_ignored(&relay, direction, at));
        tried += relay.tampered;
        if (opened && in_login && !unnoticed++)
            first = at;
    }
    ok(tried > 0 && !unnoticed, "no byte %s can be %s (%zu of %zu were)",
       direction_names[direction], kind_names[kind], tried, clean->passed[direction]);
    if (unnoticed)
        printf("# %zu went unnoticed, the first at %zu\n", unnoticed, first);
}

// ---- replays ----

// Says to the box what another client said; true: the box goes on beyond TLS's first answer.
static bool replay_to_box(const struct relay *clean, size_t *answered)
{
    int fd = endpoint_connect(&box, 5000);
    uint8_t bytes[4096];
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    ssize_t n;

    *answered = 0;
    put(fd, clean->seen[TO_BOX], clean->passed[TO_BOX]);
    while (poll(&readable, 1, 20000) > 0 && (n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        *answered += (size_t)n;
    close(fd);
    return *answered > 0;
}

static void *replay_box(void *argument)
{
    const struct relay *clean = argument;
    uint8_t bytes[4096];
    int fd = accept_one();

    put(fd, clean->seen[TO_CLIENT], clean->passed[TO_CLIENT]);
    shutdown(fd, SHUT_WR);
    while (recv(fd, bytes, sizeof(bytes), 0) > 0)
        ;
    close(fd);
    return NULL;
}

static void replay(const struct relay *clean)
{
    struct session_error error;
    size_t answered;
    pthread_t thread;

    replay_to_box(clean, &answered);
    ok(answered < clean->passed[TO_CLIENT] / 2, "a recorded client gets nowhere");
    if (pthread_create(&thread, NULL, replay_box, (void *)clean))
        bail("no thread");
    ok(!log_in(&error), "a recorded box is not believed");
    printf("# %s\n", error.text);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    static struct relay clean = {.kind = -1};

    if (argc != 3 || endpoint_parse(argv[1], 0, &box) || ticket_bundle_load(&bundle))
        bail("usage: tampered_login HOST:PORT STRIDE");
    if (endpoint_parse("127.0.0.1:0", 0, &here))
        bail("no address");
    listener = endpoint_listen(&here, 16, &here.port);
    if (listener < 0)
        bail("cannot listen");
    ok(log_in_behind(&clean), "an untouched login works");
    // The echo does not belong to the login.
    clean.passed[TO_BOX]--;
    clean.passed[TO_CLIENT]--;
    replay(&clean);
    for (int kind = 0; kind < KINDS; kind++)
        for (int direction = 0; direction < DIRECTIONS; direction++)
            tamper(&clean, kind, direction, (size_t)atoi(argv[2]) * (kind == CHANGE ? 1 : 5));
    return done();
}
