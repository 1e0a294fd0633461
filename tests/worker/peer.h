// SPDX-License-Identifier: BSD-3-Clause
// The client's and the supervisor's end of one rgpu-worker, for tests: starts the real program with
// the software GPU, grants it a session and speaks the protocol with it, rightly or wrongly.
#ifndef RGPU_TESTS_WORKER_PEER_H
#define RGPU_TESTS_WORKER_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/net/control.h"
#include "common/base/handle_table.h"
#include "cuda_ops.h"
#include "proto/wire.h"
#include "tests/tap.h"
#include "transport/link/link.h"

struct peer_options {
    const char *transport; // NULL: tcp
    unsigned devices;      // 0: one
    uint64_t budget;       // bytes of each device
    const char *memory;    // of a software device, as RGPU_SIM_MEMORY; NULL: 1G
    uint32_t pause; // number of a pause that is ordered while the session is being opened; 0: none
};

enum { PEER_JOBS = 64, PEER_HOST_CALLS = 16 };

// Data received by events, by job if the event has one.
struct peer_job {
    uint8_t *data;
    uint64_t size, received;
    bool ended;
    int32_t result;
};

struct peer {
    pid_t pid;
    int control, client;
    struct link *link;
    struct handle_table *handles;
    struct control_ready ready;
    struct control_frame welcome_frame;
    struct control_welcome welcome;
    const struct wire_snapshot *snapshot;
    const struct wire_device *devices;
    uint64_t context; // goes into every request
    uint32_t next_call;
    CUresult deferred; // of the last reply that had one
    uint32_t credits;
    struct peer_job jobs[PEER_JOBS];
    uint64_t host_calls[PEER_HOST_CALLS];
    unsigned host_call_count;
    char text[4096]; // printed
    size_t text_size;
    char ending[256];
    uint8_t record[WIRE_RECORD_MAX];
};

void peer_start(struct peer *peer, const struct peer_options *options);
// Ends both connections and waits for the process.
void peer_stop(struct peer *peer);
// Waits for the worker's report of its end, then for the process.
void peer_await_end(struct peer *peer, struct control_ended *ended);

uint64_t peer_mint(struct peer *peer, enum handle_kind kind);

// Sends a request without or with a reply. TAIL follows the arguments.
void peer_post(struct peer *peer, unsigned op, const void *args, size_t size, const void *tail,
               size_t tail_size);
CUresult peer_ask(struct peer *peer, unsigned op, const void *args, size_t size, const void *tail,
                  size_t tail_size, void *reply, size_t reply_size, void *bytes, size_t room,
                  uint32_t *used);
// The two halves of peer_ask: sending gives the number of the call.
uint32_t peer_send(struct peer *peer, unsigned op, const void *args, size_t size, const void *tail,
                   size_t tail_size);
CUresult peer_await(struct peer *peer, uint32_t call, void *reply, size_t reply_size, void *bytes,
                    size_t room, uint32_t *used);
// Takes the next event; false: none came within TIMEOUT_MS.
bool peer_take_event(struct peer *peer, int timeout_ms);

#define POST(peer, op, ...) \
    peer_post(peer, OP_##op, &(struct args_##op){__VA_ARGS__}, sizeof(struct args_##op), NULL, 0)
#define POST_TAIL(peer, op, tail, tail_size, ...) \
    peer_post(peer, OP_##op, &(struct args_##op){__VA_ARGS__}, sizeof(struct args_##op), tail, \
              tail_size)
#define ASK(peer, op, ...) \
    peer_ask(peer, OP_##op, &(struct args_##op){__VA_ARGS__}, sizeof(struct args_##op), NULL, 0, \
             NULL, 0, NULL, 0, NULL)
#define ASK_REPLY(peer, op, reply, ...) \
    peer_ask(peer, OP_##op, &(struct args_##op){__VA_ARGS__}, sizeof(struct args_##op), NULL, 0, \
             reply, sizeof(struct reply_##op), NULL, 0, NULL)

// Common steps; they bail out where they fail.
void peer_retain(struct peer *peer, int device); // and makes it the current context
CUdeviceptr peer_alloc(struct peer *peer, size_t size);
uint64_t peer_stream(struct peer *peer);
uint64_t peer_module(struct peer *peer, const char *ptx);
uint64_t peer_function(struct peer *peer, uint64_t module, const char *name);

// Pushes SIZE bytes as the client library does, and pulls them.
void peer_push(struct peer *peer, uint32_t job, CUdeviceptr dst, const void *data, size_t size,
               uint64_t stream);
void peer_push_blocks(struct peer *peer, uint32_t job, const void *data, size_t size);
void peer_pull(struct peer *peer, uint32_t job, void *data, CUdeviceptr src, size_t size,
               uint64_t stream);

// A word of device memory at which a stream can be held until the test lets it go on.
struct brake {
    CUdeviceptr word;
    uint64_t stream; // of its own
};
void brake_make(struct peer *peer, struct brake *brake);
void brake_hold(struct peer *peer, const struct brake *brake, uint64_t stream);
void brake_release(struct peer *peer, const struct brake *brake);

void fill(uint8_t *data, size_t size, unsigned seed);

#endif
