// SPDX-License-Identifier: BSD-3-Clause
// A worker without a GPU for the tests of rgpud: it speaks the supervisor's protocol for real, and
// behaves well or badly as the environment and its client say.
//   STUB_FAIL_FILE=path   sends FAILED and exits while that file exists (its text is the reason)
//   STUB_GATE=fifo        becomes ready only after a byte came through
//   STUB_STUBBORN=1       ignores requests to end
//   STUB_PEER=port        reads nothing there
// A client's bytes after the handshake: 'a' abort, 'x' exit with 3, 'm' a malformed control packet,
// 'r' a second READY, 'u' a transport whose name is not text, '!' messages and '%' output without
// end, '^' one and '*' eight sockets passed as memory whose close blocks for an hour, others are
// echoed.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/control_stream.h"
#include "common/net/endpoint.h"
#include "common/net/fdpass.h"

enum { CONTROL_FD = CONTROL_WORKER_SUPERVISOR_FD };

static struct control_setup setup;
static struct control_grant grant;
static struct control_stream stream;

static void say(enum control_message_type type, const void *message)
{
    if (control_send_packet(CONTROL_FD, type, message, -1))
        _exit(9);
}

static void take_setup(void)
{
    struct control_frame frame = {0};
    int passed;

    if (control_receive_packet(CONTROL_FD, &frame, &passed))
        _exit(0);
    if (control_decode(&frame, CONTROL_SETUP, &setup))
        _exit(5);
    control_frame_free(&frame);
}

static void fail_if_asked(void)
{
    const char *path = getenv("STUB_FAIL_FILE");
    struct control_failed failed = {.result = 100};
    FILE *file = path ? fopen(path, "r") : NULL;

    if (!file)
        return;
    if (!fgets(failed.text, sizeof(failed.text), file))
        snprintf(failed.text, sizeof(failed.text), "no reason");
    failed.text[strcspn(failed.text, "\n")] = '\0';
    say(CONTROL_FAILED, &failed);
    _exit(1);
}

static void wait_at_gate(void)
{
    const char *path = getenv("STUB_GATE");
    char byte;
    int fd;

    if (!path)
        return;
    fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, &byte, 1) != 1)
        _exit(8);
    close(fd);
}

static void say_ready(void)
{
    static struct control_ready ready;
    const char *count = getenv("RGPU_SIM_DEVICES");

    ready.pid = (uint32_t)getpid();
    ready.driver_version = 13000;
    ready.devices_count = count ? (uint32_t)atoi(count) : 2;
    for (uint32_t i = 0; i < ready.devices_count; i++) {
        struct control_device *device = &ready.devices[i];
        memset(device->uuid, (int)(0xa0 + i), sizeof(device->uuid));
        snprintf(device->name, sizeof(device->name), "Stub GPU %u", i);
        snprintf(device->pci, sizeof(device->pci), "0000:%02x:00.0", i + 1);
        device->memory = 1ull << 30;
        device->capability = 90;
        device->context_cost = i == setup.device ? 64ull << 20 : 0;
    }
    say(CONTROL_READY, &ready);
}

static int await_grant(void)
{
    static struct control_frame frame;
    int fds[FDPASS_MAX];

    for (;;) {
        size_t count = FDPASS_MAX; // the client's socket, and the lease's account
        if (control_receive_packet_with(CONTROL_FD, &frame, fds, &count))
            _exit(0);
        if (!control_decode(&frame, CONTROL_GRANT, &grant) && count)
            return fds[0];
        if (!getenv("STUB_STUBBORN"))
            _exit(0);
    }
}

static int give_secret(void *argument, const void *identity, size_t size,
                       uint8_t key[TLS_SECRET_BYTES])
{
    memcpy(key, grant.secret, TLS_SECRET_BYTES);
    return 0;
}

static void meet_client(void)
{
    if (grant.protection == CONTROL_PROTECTION_NONE)
        return;
    if (tls_server(stream.fd, give_secret, NULL, false, &stream.tls) ||
        control_secure(&stream, clock_ms() + 5000))
        _exit(7);
}

static void welcome(void)
{
    static const char snapshot[] = "snapshot of the stub";
    struct control_welcome message = {
        .version = grant.version,
        .session = grant.session,
        .snapshot = (const uint8_t *)snapshot,
        .snapshot_size = sizeof(snapshot),
    };

    control_boot_id(message.boot_id);
    if (control_send(&stream, CONTROL_WELCOME, &message, clock_ms() + 5000))
        _exit(7);
}

static void agree_on_transport(void)
{
    struct control_frame frame = {0};
    struct control_transport_proposal proposal;
    struct control_transport_reply reply = {0};
    struct control_stats stats = {.bytes_in = 11, .bytes_out = 22, .calls = 33, .memory = 44};

    while (!reply.accepted) {
        if (control_receive(&stream, &frame, clock_ms() + 20000) ||
            control_decode(&frame, CONTROL_TRANSPORT_PROPOSAL, &proposal))
            return;
        reply.accepted = !strcmp(proposal.transport, "tcp");
        snprintf(reply.text, sizeof(reply.text), "%s", reply.accepted ? "" : "only tcp here");
        if (control_send(&stream, CONTROL_TRANSPORT_REPLY, &reply, clock_ms() + 5000))
            return;
    }
    control_frame_free(&frame);
    if (stream.tls && grant.protection != CONTROL_PROTECTION_PRIVACY &&
        control_end_tls(&stream, clock_ms() + 5000))
        _exit(7);
    snprintf(stats.transport, sizeof(stats.transport), "%s", proposal.transport);
    snprintf(stats.reason, sizeof(stats.reason), "%s", proposal.reason);
    say(CONTROL_STATS, &stats);
}

static void end(enum control_end_reason reason, const char *text)
{
    struct control_ended ended = {.reason = reason};

    snprintf(ended.text, sizeof(ended.text), "%s", text);
    say(CONTROL_ENDED, &ended);
    _exit(0);
}

static ssize_t hear(char *byte)
{
    return stream.tls ? tls_receive(stream.tls, byte, 1) : recv(stream.fd, byte, 1, 0);
}

static ssize_t say_back(char byte)
{
    return stream.tls ? tls_send(stream.tls, &byte, 1) : send(stream.fd, &byte, 1, MSG_NOSIGNAL);
}

__attribute__((noreturn)) static void chatter(void)
{
    for (;;)
        fprintf(stderr, "rgpu-worker: info: chatter\n");
}

__attribute__((noreturn)) static void flood(void)
{
    struct control_stats stats = {.reason = "flood"};

    for (;;) {
        snprintf(stats.transport, sizeof(stats.transport), "%s", ++stats.calls % 2 ? "tcp" : "shm");
        say(CONTROL_STATS, &stats);
    }
}

// A connection whose close waits until STUB_PEER has read the sent bytes, or for an hour.
static int lingering_socket(void)
{
    const struct linger hour = {.l_onoff = 1, .l_linger = 3600};
    static const char zeros[65536];
    struct endpoint peer;
    char text[32];
    int fd;

    snprintf(text, sizeof(text), "127.0.0.1:%s", getenv("STUB_PEER"));
    fd = endpoint_parse(text, 0, &peer) ? -1 : endpoint_connect(&peer, 5000);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof(hour)))
        _exit(10);
    while (send(fd, zeros, sizeof(zeros), MSG_DONTWAIT) > 0)
        ;
    return fd;
}

static void pass_lingering(size_t count)
{
    const struct control_export memory = {.kind = CONTROL_EXPORT_KIND_MEMORY, .size = 4096};
    int fds[FDPASS_MAX];

    for (size_t i = 0; i < count; i++)
        fds[i] = lingering_socket();
    if (control_send_packet_with(CONTROL_FD, CONTROL_EXPORT, &memory, fds, count))
        _exit(9);
    _exit(0);
}

static void obey(void)
{
    char byte;

    if (hear(&byte) != 1)
        end(CONTROL_END_REASON_CLIENT_LEFT, "the client closed its connection");
    switch (byte) {
    case 'a': abort();
    case 'x': _exit(3);
    case 'm':
        if (send(CONTROL_FD, "garbage garbage", 15, MSG_NOSIGNAL) != 15)
            _exit(6);
        break;
    case 'r': say_ready(); break;
    case 'u': say(CONTROL_STATS, &(struct control_stats){.transport = "\xff\xfe"}); break;
    case '^': pass_lingering(1); break;
    case '*': pass_lingering(FDPASS_MAX); break;
    case '!': flood();
    case '%': chatter();
    default:
        if (say_back(byte) != 1)
            end(CONTROL_END_REASON_CLIENT_LEFT, "the client closed its connection");
    }
}

static void serve(void)
{
    struct pollfd wait[] = {{.fd = CONTROL_FD, .events = POLLIN},
                            {.fd = stream.fd, .events = POLLIN}};
    struct control_frame frame = {0};
    int passed;

    fcntl(stream.fd, F_SETFL, 0);
    for (;;) {
        if (!stream.tls || !tls_pending(stream.tls))
            poll(wait, 2, -1);
        else
            wait[1].revents = POLLIN;
        if (wait[0].revents) {
            if (control_receive_packet(CONTROL_FD, &frame, &passed))
                _exit(0);
            if (!getenv("STUB_STUBBORN"))
                end(CONTROL_END_REASON_SHUTDOWN, "ended by rgpud");
        }
        if (wait[1].revents)
            obey();
    }
}

int main(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    take_setup();
    fail_if_asked();
    wait_at_gate();
    say_ready();
    stream.fd = await_grant();
    meet_client();
    welcome();
    agree_on_transport();
    serve();
}
