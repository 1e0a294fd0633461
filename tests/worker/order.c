// SPDX-License-Identifier: BSD-3-Clause
// Tests the order of operations: pending data delays only its own stream, a wait of one client
// thread delays no other thread, and no client sees the end of a copy before it has the data.
#include <stdlib.h>
#include <string.h>

#include "tests/worker/peer.h"

enum { SIZE = 3 * WIRE_BLOCK_SIZE };

static void push_holds_its_stream(struct peer *peer)
{
    uint8_t *data = malloc(SIZE), *got = calloc(1, SIZE);
    CUdeviceptr memory = peer_alloc(peer, SIZE), copy = peer_alloc(peer, SIZE);
    uint64_t stream = peer_stream(peer), other = peer_stream(peer);

    fill(data, SIZE, 1);
    POST(peer, push_begin, .job = 1, .dst = memory, .size = SIZE, .stream = stream);
    POST(peer, cuMemcpyDtoDAsync_v2, .dstDevice = copy, .srcDevice = memory, .ByteCount = SIZE,
         .hStream = stream);
    is_int(ASK(peer, cuStreamQuery, .hStream = stream), CUDA_ERROR_NOT_READY,
           "a stream whose data has not come yet is not through");
    is_int(ASK(peer, cuStreamSynchronize, .hStream = other), CUDA_SUCCESS, "another one is");
    peer_push_blocks(peer, 1, data, SIZE);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS,
           "the data lets the stream go on");
    peer_pull(peer, 2, got, copy, SIZE, stream);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS, "a pull is waited for");
    is_int((int64_t)peer->jobs[2].received, SIZE, "its data came before the reply");
    ok(!memcmp(got, data, SIZE), "later work of the stream saw what was pushed");
    while (!peer->jobs[2].ended)
        peer_take_event(peer, 10000);
    free(data);
    free(got);
}

static void push_waits_for_its_place(struct peer *peer, struct brake *brake)
{
    uint8_t *first = malloc(SIZE), *second = malloc(SIZE), *got = calloc(1, SIZE);
    CUdeviceptr memory = peer_alloc(peer, SIZE), saved = peer_alloc(peer, SIZE);
    uint64_t stream = peer_stream(peer);

    fill(first, SIZE, 2);
    fill(second, SIZE, 3);
    peer_push(peer, 3, memory, first, SIZE, stream);
    brake_make(peer, brake);
    brake_hold(peer, brake, stream);
    POST(peer, cuMemcpyDtoDAsync_v2, .dstDevice = saved, .srcDevice = memory, .ByteCount = SIZE,
         .hStream = stream);
    peer_push(peer, 4, memory, second, SIZE, stream);
    brake_release(peer, brake);
    peer_pull(peer, 5, got, saved, SIZE, stream);
    ASK(peer, cuStreamSynchronize, .hStream = stream);
    ok(!memcmp(got, first, SIZE), "a push does not overtake earlier work of its stream");
    free(first);
    free(second);
    free(got);
}

static void waiting_holds_up_nobody(struct peer *peer, struct brake *brake)
{
    uint64_t stream = peer_stream(peer), other = peer_stream(peer);
    uint8_t *data = calloc(1, SIZE);
    CUdeviceptr memory = peer_alloc(peer, SIZE);

    brake_make(peer, brake);
    brake_hold(peer, brake, stream);
    uint32_t call = peer_send(peer, OP_cuStreamSynchronize,
                              &(struct args_cuStreamSynchronize){.hStream = stream},
                              sizeof(struct args_cuStreamSynchronize), NULL, 0);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = other), CUDA_SUCCESS,
           "while one call waits others are answered");
    peer_push(peer, 6, memory, data, SIZE, other);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = other), CUDA_SUCCESS, "and data moves");
    brake_release(peer, brake);
    is_int(peer_await(peer, call, NULL, 0, NULL, 0, NULL), CUDA_SUCCESS,
           "the one that waited is answered when it may go on");
    free(data);
}

static void pull_waits_without_blocking(struct peer *peer, struct brake *brake)
{
    uint64_t stream = peer_stream(peer), other = peer_stream(peer);
    uint8_t *slow = calloc(1, SIZE), *quick = calloc(1, SIZE);
    CUdeviceptr memory = peer_alloc(peer, SIZE);

    brake_make(peer, brake);
    brake_hold(peer, brake, stream);
    peer_pull(peer, 7, slow, memory, SIZE, stream);
    peer_pull(peer, 8, quick, memory, SIZE, other);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = other), CUDA_SUCCESS,
           "a pull of a stream that is held up holds up no other");
    is_int((int64_t)peer->jobs[8].received, SIZE, "whose data comes");
    is_int((int64_t)peer->jobs[7].received, 0, "while the first one's does not");
    is_int(ASK(peer, cuStreamQuery, .hStream = stream), CUDA_ERROR_NOT_READY,
           "nor does its stream pass it");
    brake_release(peer, brake);
    ASK(peer, cuStreamSynchronize, .hStream = stream);
    is_int((int64_t)peer->jobs[7].received, SIZE, "until it may");
    free(slow);
    free(quick);
}

static void events_wait_for_data(struct peer *peer)
{
    uint64_t stream = peer_stream(peer), event = peer_mint(peer, HANDLE_EVENT);
    uint8_t *data = calloc(1, SIZE);
    CUdeviceptr memory = peer_alloc(peer, SIZE);
    CUresult result;

    POST(peer, cuEventCreate, .phEvent = event);
    peer_pull(peer, 9, data, memory, SIZE, stream);
    POST(peer, cuEventRecord, .hEvent = event, .hStream = stream);
    do
        result = ASK(peer, cuEventQuery, .hEvent = event);
    while (result == CUDA_ERROR_NOT_READY);
    is_int(result, CUDA_SUCCESS, "an event behind a pull comes");
    is_int((int64_t)peer->jobs[9].received, SIZE, "after the data");
    free(data);
}

static void host_functions(struct peer *peer)
{
    uint64_t stream = peer_stream(peer);
    uint8_t *data = calloc(1, SIZE);
    CUdeviceptr memory = peer_alloc(peer, SIZE);

    peer_pull(peer, 10, data, memory, SIZE, stream);
    POST(peer, host_function, .token = 41, .stream = stream);
    POST(peer, host_function, .token = 42, .stream = stream, .is_callback = 1);
    while (!peer->host_call_count)
        peer_take_event(peer, 10000);
    is_int((int64_t)peer->host_calls[0], 41, "a host function is called");
    is_int((int64_t)peer->jobs[10].received, SIZE, "after the data in front of it");
    is_int(ASK(peer, cuStreamQuery, .hStream = stream), CUDA_ERROR_NOT_READY,
           "its stream waits for it");
    POST(peer, host_function_done, .token = 41);
    while (peer->host_call_count < 2)
        peer_take_event(peer, 10000);
    is_int((int64_t)peer->host_calls[1], 42, "then the next one");
    POST(peer, host_function_done, .token = 42);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS, "and all is done");
    free(data);
}

// More work than a stream takes makes the worker's thread wait in the driver; what lets the stream
// go on must be read all the same.
static void full_queue_waits_for_push(struct peer *peer)
{
    uint64_t stream = peer_stream(peer), marker = peer_mint(peer, HANDLE_EVENT);
    uint8_t *data = malloc(SIZE), *got = calloc(1, SIZE);
    CUdeviceptr memory = peer_alloc(peer, SIZE), word = peer_alloc(peer, 256);

    fill(data, SIZE, 9);
    POST(peer, cuEventCreate, .phEvent = marker);
    POST(peer, push_begin, .job = 20, .dst = memory, .size = SIZE, .stream = stream);
    for (int i = 0; i < 3000; i++)
        POST(peer, cuMemsetD32Async, .dstDevice = word, .ui = (uint32_t)i, .N = 1,
             .hStream = stream);
    POST(peer, push_begin, .job = 21, .dst = memory, .size = SIZE, .stream = stream);
    peer_push_blocks(peer, 20, got, SIZE);
    peer_push_blocks(peer, 21, data, SIZE);
    POST(peer, cuEventRecord, .hEvent = marker, .hStream = stream);
    peer_pull(peer, 22, got, memory, SIZE, stream);
    peer->deferred = CUDA_SUCCESS;
    is_int(ASK(peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS,
           "3000 operations behind a push do not keep its data from being read");
    is_int(peer->deferred, CUDA_SUCCESS, "nothing failed");
    ok(!memcmp(got, data, SIZE), "and all happened in order");
    is_int(ASK(peer, cuEventQuery, .hEvent = marker), CUDA_SUCCESS, "up to the last");
    free(data);
    free(got);
}

static void full_queue_waits_for_host_function(struct peer *peer)
{
    uint64_t stream = peer_stream(peer), other = peer_stream(peer);
    CUdeviceptr word = peer_alloc(peer, 256);

    peer->host_call_count = 0;
    POST(peer, host_function, .token = 51, .stream = stream);
    for (int i = 0; i < 3000; i++)
        POST(peer, cuMemsetD32Async, .dstDevice = word, .ui = (uint32_t)i, .N = 1,
             .hStream = stream);
    while (!peer->host_call_count)
        peer_take_event(peer, 10000);
    POST(peer, host_function_done, .token = 51);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS,
           "nor do 3000 behind a host function keep its end from being heard");
    is_int(ASK(peer, cuStreamSynchronize, .hStream = other), CUDA_SUCCESS, "all goes on after it");
}

// Changes of mirrored memory at its first bytes, as byte_changes.h lays them out.
struct change_of_word {
    uint32_t at, size, value;
};

// A write by a client's function arrives before the function's end, even if both are read out of
// turn.
static void full_queue_waits_for_what_a_function_wrote(struct peer *peer)
{
    enum { PAGE = 4096, REGION = 7 };
    const struct change_of_word change = {.size = 4, .value = 11};
    uint64_t stream = peer_stream(peer);
    CUdeviceptr word = peer_alloc(peer, 256);
    uint8_t got[4] = {0}, changes[256];
    struct reply_host_mirror mirror = {0};
    struct reply_host_mirror_read read = {0};
    struct args_host_mirror_read look = {.region = REGION,
                                         .size = PAGE,
                                         .reply_room = sizeof(changes)};
    uint32_t used = 1;

    is_int(ASK_REPLY(peer, host_mirror, &mirror, .address = UINT64_C(0x3e0000000000), .size = PAGE,
                     .region = REGION),
           CUDA_SUCCESS, "host memory is mirrored");
    peer->host_call_count = 0;
    POST(peer, host_function, .token = 52, .stream = stream);
    POST(peer, cuMemcpyDtoDAsync_v2, .dstDevice = word, .srcDevice = mirror.device_address,
         .ByteCount = 4, .hStream = stream);
    for (int i = 0; i < 3000; i++)
        POST(peer, cuMemsetD32Async, .dstDevice = word + 64, .ui = (uint32_t)i, .N = 1,
             .hStream = stream);
    while (!peer->host_call_count)
        peer_take_event(peer, 10000);
    is_int(peer_ask(peer, OP_host_mirror_read, &look, sizeof(look), NULL, 0, &read, sizeof(read),
                    changes, sizeof(changes), &used),
           CUDA_SUCCESS,
           "a function is answered what the GPU wrote, with 3000 operations behind it");
    POST_TAIL(peer, host_mirror_write, &change, sizeof(change), .region = REGION,
              .bytes = sizeof(change));
    POST(peer, host_function_done, .token = 52);
    peer_pull(peer, 23, got, word, sizeof(got), stream);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS, "its end is heard");
    is_int(got[0], 11, "and what follows it in its stream sees what it wrote");
    ASK(peer, host_mirror_end, .region = REGION);
}

// Frees are assumed to be quick; a slow free delays other calls only briefly. The call that lets
// the stream continue may not need the driver, which blocks new work in the context during a free.
static void freeing_holds_up_nobody(struct peer *peer)
{
    uint64_t stream = peer_stream(peer), other = peer_stream(peer);
    CUdeviceptr memory = peer_alloc(peer, 4096);
    bool early = true;

    for (unsigned round = 0; round < 3; round++) {
        struct args_cuMemFree_v2 args = {.dptr = peer_alloc(peer, 4096)};
        peer->host_call_count = 0;
        POST(peer, host_function, .token = 60 + round, .stream = stream);
        POST(peer, cuMemsetD32Async, .dstDevice = memory, .ui = 1, .N = 1, .hStream = stream);
        uint32_t call = peer_send(peer, OP_cuMemFree_v2, &args, sizeof(args), NULL, 0);
        early &= ASK(peer, cuStreamSynchronize, .hStream = other) == CUDA_SUCCESS;
        while (!peer->host_call_count)
            peer_take_event(peer, 10000);
        POST(peer, host_function_done, .token = 60 + round);
        early &= peer_await(peer, call, NULL, 0, NULL, 0, NULL) == CUDA_SUCCESS;
        early &= ASK(peer, cuStreamSynchronize, .hStream = stream) == CUDA_SUCCESS;
    }
    ok(early, "while memory that is in use is being freed others are answered");
}

// A driver that frees memory waits for all work of the context and blocks new work. So the copies
// that a waiting stream depends on must end before the driver is called.
static void freeing_waits_for_data_first(struct peer *peer)
{
    uint64_t stream = peer_stream(peer);
    uint8_t *data = malloc(SIZE), *got = calloc(1, SIZE);
    CUdeviceptr memory = peer_alloc(peer, SIZE);
    struct args_cuMemFree_v2 args = {.dptr = peer_alloc(peer, 4096)};

    fill(data, SIZE, 11);
    POST(peer, push_begin, .job = 30, .dst = memory, .size = SIZE, .stream = stream);
    uint32_t call = peer_send(peer, OP_cuMemFree_v2, &args, sizeof(args), NULL, 0);
    peer_push_blocks(peer, 30, data, SIZE);
    is_int(peer_await(peer, call, NULL, 0, NULL, 0, NULL), CUDA_SUCCESS,
           "memory is freed behind a push whose data came later");
    peer_pull(peer, 31, got, memory, SIZE, stream);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS, "the stream goes on");
    ok(!memcmp(got, data, SIZE), "with the data");
    free(data);
    free(got);
}

int main(void)
{
    struct brake brake;
    struct peer peer;

    peer_start(&peer, &(struct peer_options){0});
    peer_retain(&peer, 0);
    push_holds_its_stream(&peer);
    push_waits_for_its_place(&peer, &brake);
    waiting_holds_up_nobody(&peer, &brake);
    pull_waits_without_blocking(&peer, &brake);
    events_wait_for_data(&peer);
    host_functions(&peer);
    freeing_holds_up_nobody(&peer);
    freeing_waits_for_data_first(&peer);
    full_queue_waits_for_push(&peer);
    full_queue_waits_for_host_function(&peer);
    full_queue_waits_for_what_a_function_wrote(&peer);
    peer_stop(&peer);
    return done();
}
