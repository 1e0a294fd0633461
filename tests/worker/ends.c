// SPDX-License-Identifier: BSD-3-Clause
// However a session ends, the worker goes without waiting for its work, and says why.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/worker/peer.h"

// In the middle of work: a stream that is held up for ever, and a thread that waits for it.
static void start_busy(struct peer *peer, const char *transport)
{
    struct brake brake;
    uint64_t stream;

    peer_start(peer, &(struct peer_options){.transport = transport});
    peer_retain(peer, 0);
    stream = peer_stream(peer);
    if (!strcmp(transport, "tcp")) {
        brake_make(peer, &brake);
        brake_hold(peer, &brake, stream);
    } else {
        POST(peer, cuStreamWaitValue32_v2, .stream = stream, .addr = peer_alloc(peer, 64),
             .value = 1, .flags = CU_STREAM_WAIT_VALUE_EQ);
    }
    peer_send(peer, OP_cuStreamSynchronize, &(struct args_cuStreamSynchronize){.hStream = stream},
              sizeof(struct args_cuStreamSynchronize), NULL, 0);
}

static void client_goes(const char *transport)
{
    struct control_ended ended;
    struct peer peer;

    start_busy(&peer, transport);
    shutdown(peer.client, SHUT_RDWR);
    peer_await_end(&peer, &ended);
    is_int(ended.reason, CONTROL_END_REASON_CLIENT_LEFT, "%s: a client that goes is told of",
           transport);
}

static void supervisor_goes(void)
{
    struct control_ended ended;
    struct peer peer;

    start_busy(&peer, "tcp");
    shutdown(peer.control, SHUT_WR);
    peer_await_end(&peer, &ended);
    pass("a worker without a supervisor goes");
}

static void ordered(void)
{
    struct control_end order = {.reason = CONTROL_END_REASON_REVOKED, .text = "the lease is over"};
    struct control_ended ended;
    struct peer peer;

    start_busy(&peer, "tcp");
    if (control_send_packet(peer.control, CONTROL_END, &order, -1))
        bail("the order is not taken");
    while (!*peer.ending)
        peer_take_event(&peer, 10000);
    is_str(peer.ending, "the lease is over", "a client is told why its session ends");
    peer_await_end(&peer, &ended);
    is_int(ended.reason, CONTROL_END_REASON_REVOKED, "and the supervisor that it has");
}

static void confined(void)
{
    char path[64], line[256];
    unsigned filter = 0, more_privileges = 1;
    struct peer peer;
    FILE *status;

    peer_start(&peer, &(struct peer_options){0});
    snprintf(path, sizeof(path), "/proc/%d/status", (int)peer.pid);
    status = fopen(path, "r");
    while (status && fgets(line, sizeof(line), status)) {
        sscanf(line, "Seccomp: %u", &filter);
        if (sscanf(line, "NoNewPrivs: %u", &more_privileges) == 1)
            more_privileges = !more_privileges;
        if (!strncmp(line, "CapEff:", 7))
            ok(strspn(line + 8, "0\n") == strlen(line + 8), "no capability is left");
    }
    if (status)
        fclose(status);
    is_int(filter, 2, "a filter of system calls is on");
    is_int(more_privileges, 0, "no program could give more rights");
    peer_stop(&peer);
}

int main(void)
{
    client_goes("tcp");
    client_goes("shm");
    supervisor_goes();
    ordered();
    confined();
    return done();
}
