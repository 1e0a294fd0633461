// SPDX-License-Identifier: BSD-3-Clause
// usage: resume_claims HOST:PORT [proved]. Connections that claim to continue a lost one of a
// session. Each check has a session of its own. With `proved`, two clients lose their connections
// and one of them only proves itself. It continues when the script says on standard input that the
// session of the other one has ended.
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/expected_connection.h"
#include "common/net/session_client.h"
#include "tests/tap.h"

enum { STEP_MS = 20000, RECONNECT_MS = 60000, EARLY = 30 };

static struct endpoint box;

struct opened {
    struct control_stream stream;
    uint64_t session;
    uint8_t token[CONTROL_TOKEN_BYTES];
};

static struct opened open_session(void)
{
    struct session_request request = {.endpoint = box, .reconnect_ms = RECONNECT_MS};
    struct session_welcome welcome;
    struct session_error error;
    struct opened opened;
    struct tls *tls;

    if (session_open(&request, &welcome, &opened.stream, &error) ||
        session_propose_transport(&opened.stream, "tcp", "a test", &error) ||
        session_stream_release(&opened.stream, welcome.protection, &tls))
        bail("no session: %s", error.text);
    opened.session = welcome.session;
    memset(opened.token, 0, sizeof(opened.token));
    for (uint32_t i = 0; i < welcome.offer.offers_count; i++)
        if (!strcmp(welcome.offer.offers[i].transport, CONTROL_RESUME_OFFER))
            memcpy(opened.token, welcome.offer.offers[i].token, sizeof(opened.token));
    session_welcome_free(&welcome);
    return opened;
}

static int prove(const struct opened *opened, unsigned number, struct control_stream *stream)
{
    uint8_t secret[TLS_SECRET_BYTES];

    stream->fd = endpoint_connect(&box, STEP_MS);
    if (stream->fd < 0)
        bail("no connection");
    return expected_connection_prove(stream->fd, opened->session, CONTROL_RESUME_NUMBER + number,
                                     opened->token, clock_ms() + STEP_MS, secret);
}

// Claims to continue connection NUMBER. Returns 0, the worker's answer and the connection, or
// -errno.
static int claim(const struct opened *opened, unsigned number, struct control_resume mine,
                 struct control_resume *answer, int *fd)
{
    struct control_stream stream = {.fd = -1};
    int64_t deadline = clock_ms() + STEP_MS;
    int err = prove(opened, number, &stream);

    if (!err)
        err = control_send(&stream, CONTROL_RESUME, &mine, deadline);
    if (!err)
        err = control_expect(&stream, CONTROL_RESUME, answer, deadline);
    if (err)
        close(stream.fd);
    *fd = err ? -1 : stream.fd;
    return err;
}

// Reads until the worker closes the connection. Returns false if it does not.
static bool ends(int fd)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    uint8_t bytes[4096];
    ssize_t n = 1;

    while (n > 0 && poll(&readable, 1, STEP_MS) > 0)
        n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    return n <= 0;
}

static bool stands(int fd)
{
    struct pollfd now = {.fd = fd, .events = POLLRDHUP};

    return !poll(&now, 1, 0);
}

static bool gives_credits(int fd)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    uint8_t byte;

    return poll(&readable, 1, STEP_MS) > 0 && recv(fd, &byte, 1, MSG_DONTWAIT) == 1;
}

static void check_claims(void)
{
    struct opened opened = open_session(), stranger = opened;
    struct control_resume answer;
    int fd, again;

    stranger.token[31] ^= 1;
    ok(claim(&stranger, 0, (struct control_resume){.attempt = 1}, &answer, &fd) < 0,
       "a wrong secret is refused");
    stranger = opened;
    stranger.session++;
    ok(claim(&stranger, 0, (struct control_resume){.attempt = 1}, &answer, &fd) < 0,
       "and so is the secret of another session");
    ok(claim(&opened, 3, (struct control_resume){.attempt = 1}, &answer, &fd) < 0,
       "and one for a connection that the session never had");
    ok(stands(opened.stream.fd), "the session's connection stands");
    is_int(claim(&opened, 0, (struct control_resume){.attempt = 5}, &answer, &fd), 0,
           "the right secret is accepted while the old connection stands");
    is_int((long long)answer.received, 0, "the answer says what was received");
    ok(ends(opened.stream.fd), "which is closed");
    ok(gives_credits(fd), "and what was sent on it comes again");
    ok(claim(&opened, 0, (struct control_resume){.attempt = 5}, &answer, &again) < 0,
       "the same attempt again is refused");
    ok(claim(&opened, 0, (struct control_resume){.attempt = 4}, &answer, &again) < 0,
       "and so is an earlier one");
    ok(stands(fd), "the connection stands");
    close(fd);
    is_int(claim(&opened, 0, (struct control_resume){.attempt = 6}, &answer, &fd), 0,
           "a later attempt is accepted");
    close(fd);
    session_stream_close(&opened.stream);
}

static void check_counters(uint64_t received, const char *what)
{
    struct opened opened = open_session();
    struct control_resume answer, mine = {.attempt = 1, .received = received};
    int fd;

    int err = claim(&opened, 0, mine, &answer, &fd);
    ok(err || ends(fd), "%s ends the session", what);
    if (fd >= 0)
        close(fd);
    mine = (struct control_resume){.attempt = 2};
    ok(claim(&opened, 0, mine, &answer, &fd) < 0, "which is not continued afterwards");
    session_stream_close(&opened.stream);
}

static void check_records(uint32_t first, uint32_t second, const char *what)
{
    struct opened opened = open_session();
    struct control_resume answer;
    uint32_t words[6] = {first, second};
    int fd;

    if (send(opened.stream.fd, words, sizeof(words), MSG_NOSIGNAL) != sizeof(words))
        bail("send");
    ok(ends(opened.stream.fd), "%s ends the session", what);
    ok(claim(&opened, 0, (struct control_resume){.attempt = 1}, &answer, &fd) < 0,
       "which is not continued afterwards");
    session_stream_close(&opened.stream);
}

// The worker is not ready for its first request yet.
static void check_early(void)
{
    unsigned continued = 0;

    for (unsigned i = 0; i < EARLY; i++) {
        struct opened opened = open_session();
        struct control_resume answer;
        struct linger reset = {.l_onoff = 1};
        int fd;
        setsockopt(opened.stream.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        session_stream_close(&opened.stream);
        continued += !claim(&opened, 0, (struct control_resume){.attempt = 1}, &answer, &fd);
        close(fd);
    }
    is_int(continued, EARLY, "connections that end as soon as they stand are continued");
}

static int check_proved(void)
{
    struct opened alive = open_session(), dead = open_session();
    struct control_stream cut = {.fd = -1};
    struct control_resume answer;
    int fd;

    session_stream_close(&alive.stream);
    session_stream_close(&dead.stream);
    ok(!prove(&alive, 0, &cut), "a client proves itself on a connection that is cut then");
    session_stream_close(&cut);
    printf("# dead is %llu\n", (unsigned long long)dead.session);
    fflush(stdout);
    getchar();
    is_int(claim(&alive, 0, (struct control_resume){.attempt = 1}, &answer, &fd), 0,
           "it is waited for as long as it asked");
    close(fd);
    return done();
}

int main(int argc, char **argv)
{
    if (argc < 2 || endpoint_parse(argv[1], 0, &box))
        bail("usage: resume_claims HOST:PORT [proved]");
    if (argc > 2)
        return check_proved();
    check_claims();
    check_early();
    check_counters(UINT64_MAX, "having received more than was sent");
    check_counters(1 << 20, "having received a little more");
    check_records(0, UINT32_MAX, "a goodbye");
    check_records(0, UINT32_MAX - 1, "an acknowledgement of what was not sent");
    check_records(5, 1, "one for a connection that the session does not have");
    check_records((uint32_t)INT16_MAX << 17 | 24, 0, "a record that acknowledges too much");
    return done();
}
