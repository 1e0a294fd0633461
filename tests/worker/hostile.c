// SPDX-License-Identifier: BSD-3-Clause
// A client that breaks the protocol ends its session with a logged reason, in each way there is.
#include <string.h>
#include <unistd.h>

#include "tests/worker/peer.h"

// Sends one record as it stands and expects the end of the session for that reason.
static void ends_session(const char *what, const void *record, uint32_t size)
{
    struct control_ended ended;
    struct peer peer;

    peer_start(&peer, &(struct peer_options){0});
    void *place = link_reserve(peer.link, size);
    memcpy(place, record, size);
    link_commit(peer.link);
    link_flush(peer.link);
    peer_await_end(&peer, &ended);
    is_int(ended.reason, CONTROL_END_REASON_CLIENT_ERROR, "%s ends the session", what);
    ok(*ended.text != '\0', "and says: %s", ended.text);
}

static void bad_record(const char *what, struct wire_request head, uint32_t size)
{
    uint8_t record[256] = {0};

    memcpy(record, &head, sizeof(head));
    ends_session(what, record, size);
}

// Past the framing of the link, straight into the socket.
static void raw_bytes(void)
{
    struct control_ended ended;
    uint8_t noise[4096];
    struct peer peer;

    peer_start(&peer, &(struct peer_options){0});
    memset(noise, 0xff, sizeof(noise));
    ok(write(peer.client, noise, sizeof(noise)) > 0, "noise is sent");
    peer_await_end(&peer, &ended);
    is_int(ended.reason, CONTROL_END_REASON_CLIENT_ERROR, "and ends the session");
}

static void block_too_large(void)
{
    struct {
        struct wire_request head;
        struct args_push_block args;
    } record = {
        .head = {.size = sizeof(record), .op = OP_push_block},
        .args = {.job = 1, .size = 1u << 30},
    };

    ends_session("a block larger than blocks are", &record, sizeof(record));
}

static void block_of_a_graph_too_large(void)
{
    struct {
        struct wire_request head;
        struct args_graph_block args;
    } record = {
        .head = {.size = sizeof(record), .op = OP_graph_block},
        .args = {.token = 1, .size = 1u << 30},
    };

    ends_session("a graph's block larger than blocks are", &record, sizeof(record));
}

// Its bytes are taken off the link, so that the following records are read correctly.
static void block_that_no_graph_wants(void)
{
    static const uint8_t bytes[100000];
    struct peer peer;
    peer_start(&peer, &(struct peer_options){0});
    struct {
        struct wire_request head;
        struct args_graph_block args;
    } record = {
        .head = {.size = sizeof(record), .op = OP_graph_block},
        .args = {.token = 0x0e00000000001234, .offset = 1, .size = sizeof(bytes)},
    };

    is_int(link_send_bulk(peer.link, &record, sizeof(record), bytes, sizeof(bytes)), 0,
           "a block that no graph waits for is sent");
    struct reply_cuCtxGetLimit reply;
    ASK_REPLY(&peer, cuCtxGetLimit, &reply, .limit = CU_LIMIT_STACK_SIZE);
    is_int(peer.deferred, CUDA_ERROR_INVALID_VALUE, "which is an error, and the session goes on");
    peer_stop(&peer);
}

int main(void)
{
    bad_record("an operation that does not exist", (struct wire_request){.size = 24, .op = 599},
               24);
    bad_record("one beyond all", (struct wire_request){.size = 24, .op = 65535}, 24);
    bad_record("one that only the client executes",
               (struct wire_request){.size = 24, .op = OP_cuDeviceGetCount}, 24);
    bad_record("a record that is shorter than its arguments",
               (struct wire_request){.size = 24, .op = OP_cuMemAlloc_v2}, 24);
    bad_record("one that is longer", (struct wire_request){.size = 64, .op = OP_cuMemAlloc_v2}, 64);
    bad_record("flags that are not zero",
               (struct wire_request){.size = 24, .op = OP_cuCtxSynchronize, .flags = 1}, 24);
    block_too_large();
    block_of_a_graph_too_large();
    block_that_no_graph_wants();
    raw_bytes();
    return done();
}
