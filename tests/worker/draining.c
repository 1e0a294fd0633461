// SPDX-License-Identifier: BSD-3-Clause
// Tests that calls in which a driver waits for all work of the context, and blocks new work, never
// coincide with a stream that waits for data still to be copied.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/worker/peer.h"

enum { SIZE = 3 * WIRE_BLOCK_SIZE };

static const char code[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                           ".visible .global .align 4 .u32 word;\n"
                           ".visible .entry nothing() { ret; }\n";

static uint32_t send_free(struct peer *peer, uint64_t address)
{
    struct args_cuMemFree_v2 args = {.dptr = address};

    return peer_send(peer, OP_cuMemFree_v2, &args, sizeof(args), NULL, 0);
}

static uint32_t free_later(struct peer *peer)
{
    return send_free(peer, peer_alloc(peer, 4096));
}

static CUresult answer(struct peer *peer, uint32_t call)
{
    return peer_await(peer, call, NULL, 0, NULL, 0, NULL);
}

// The data of a push that was begun before.
static void push_data(struct peer *peer, uint32_t job)
{
    uint8_t *data = malloc(SIZE);

    fill(data, SIZE, job);
    peer_push_blocks(peer, job, data, SIZE);
    free(data);
}

// Returns true if MEMORY has the data in the end.
static bool has_data(struct peer *peer, uint32_t job, CUdeviceptr memory, uint64_t stream)
{
    uint8_t *data = malloc(SIZE), *got = calloc(1, SIZE);

    fill(data, SIZE, job);
    peer_pull(peer, job + 1, got, memory, SIZE, stream);
    bool same = ASK(peer, cuStreamSynchronize, .hStream = stream) == CUDA_SUCCESS &&
                !memcmp(got, data, SIZE);
    while (!peer->jobs[job + 1].ended)
        peer_take_event(peer, 10000);
    free(data);
    free(got);
    return same;
}

static void newcomers_are_kept_out(struct peer *peer)
{
    uint64_t first = peer_stream(peer), second = peer_stream(peer);
    CUdeviceptr one = peer_alloc(peer, SIZE), other = peer_alloc(peer, SIZE);

    POST(peer, push_begin, .job = 1, .dst = one, .size = SIZE, .stream = first);
    uint32_t call = free_later(peer);
    POST(peer, push_begin, .job = 2, .dst = other, .size = SIZE, .stream = second);
    push_data(peer, 1);
    is_int(
        answer(peer, call), CUDA_SUCCESS,
        "memory is freed when the data have come that a stream waits for, and before another waits");
    push_data(peer, 2);
    ok(has_data(peer, 2, other, second), "whose data come later");
}

// Blocks read before their push could begin are not queued after a copy that waits for them.
static void blocks_come_first(struct peer *peer)
{
    uint64_t streams[3];
    CUdeviceptr memory[3], unused[2];
    uint32_t call = 0;

    for (unsigned i = 0; i < 3; i++) {
        streams[i] = peer_stream(peer);
        memory[i] = peer_alloc(peer, SIZE);
    }
    unused[0] = peer_alloc(peer, 4096);
    unused[1] = peer_alloc(peer, 4096);
    for (unsigned i = 0; i < 3; i++) {
        POST(peer, push_begin, .job = 40 + 2 * i, .dst = memory[i], .size = SIZE,
             .stream = streams[i]);
        if (i == 2)
            break;
        peer->next_call -= i; // both have one number, as either may be answered first
        call = send_free(peer, unused[i]);
    }
    push_data(peer, 42);
    push_data(peer, 40);
    is_int(answer(peer, call), CUDA_SUCCESS, "memory is freed");
    is_int(answer(peer, call), CUDA_SUCCESS, "and again, while data came before their turn");
    push_data(peer, 44);
    bool right = true;
    for (unsigned i = 0; i < 3; i++)
        right &= has_data(peer, 40 + 2 * i, memory[i], streams[i]);
    ok(right, "which are right in the end");
}

// ---- each of the calls, after a push whose data is missing ----

static uint32_t load_image(struct peer *peer)
{
    static uint32_t image = 1000;

    POST(peer, image_begin, .image = ++image, .size = sizeof(code));
    POST_TAIL(peer, image_data, code, sizeof(code), .image = image, .bytes = sizeof(code));
    return image;
}

static uint32_t send_load(struct peer *peer, uint64_t image)
{
    struct args_module_load args = {.module = peer_mint(peer, HANDLE_MODULE),
                                    .image = (uint32_t)image};
    return peer_send(peer, OP_module_load, &args, sizeof(args), NULL, 0);
}

static uint32_t send_library_load(struct peer *peer, uint64_t image)
{
    struct args_library_load args = {.library = peer_mint(peer, HANDLE_LIBRARY),
                                     .image = (uint32_t)image};
    return peer_send(peer, OP_library_load, &args, sizeof(args), NULL, 0);
}

static uint32_t send_unload(struct peer *peer, uint64_t module)
{
    struct args_cuModuleUnload args = {.hmod = module};
    return peer_send(peer, OP_cuModuleUnload, &args, sizeof(args), NULL, 0);
}

static uint64_t make_library(struct peer *peer)
{
    uint64_t library = peer_mint(peer, HANDLE_LIBRARY);

    if (ASK(peer, library_load, .library = library, .image = load_image(peer)))
        bail("the library does not load");
    return library;
}

static uint32_t send_library_unload(struct peer *peer, uint64_t library)
{
    struct args_cuLibraryUnload args = {.library = library};
    return peer_send(peer, OP_cuLibraryUnload, &args, sizeof(args), NULL, 0);
}

static uint64_t make_pool(struct peer *peer)
{
    uint64_t pool = peer_mint(peer, HANDLE_POOL);
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

    if (ASK(peer, cuMemPoolCreate, .pool = pool, .poolProps = properties))
        bail("no pool");
    return pool;
}

static uint32_t send_pool_destroy(struct peer *peer, uint64_t pool)
{
    struct args_cuMemPoolDestroy args = {.pool = pool};
    return peer_send(peer, OP_cuMemPoolDestroy, &args, sizeof(args), NULL, 0);
}

// A pool with memory that it could give back.
static uint64_t make_used_pool(struct peer *peer)
{
    uint64_t pool = make_pool(peer), stream = peer_stream(peer);
    struct reply_cuMemAllocFromPoolAsync memory;

    if (ASK(peer, cuMemPoolSetAttribute, .pool = pool, .attr = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            .value = UINT64_MAX) ||
        ASK_REPLY(peer, cuMemAllocFromPoolAsync, &memory, .bytesize = 4096, .pool = pool,
                  .hStream = stream))
        bail("no memory of a pool");
    POST(peer, cuMemFreeAsync, .dptr = memory.dptr, .hStream = stream);
    ASK(peer, cuStreamSynchronize, .hStream = stream);
    return pool;
}

static uint32_t send_trim(struct peer *peer, uint64_t pool)
{
    struct args_cuMemPoolTrimTo args = {.pool = pool};
    return peer_send(peer, OP_cuMemPoolTrimTo, &args, sizeof(args), NULL, 0);
}

static uint64_t make_function(struct peer *peer, uint64_t module)
{
    struct args_cuModuleGetFunction args = {.hmod = module,
                                            .hfunc = peer_mint(peer, HANDLE_FUNCTION),
                                            .name_length = sizeof("nothing")};
    uint32_t call =
        peer_send(peer, OP_cuModuleGetFunction, &args, sizeof(args), "nothing", sizeof("nothing"));
    if (peer_await(peer, call, NULL, 0, NULL, 0, NULL))
        bail("no function");
    return args.hfunc;
}

static uint32_t send_info(struct peer *peer, uint64_t function)
{
    struct args_function_info args = {.function = function, .reply_room = 4096};
    return peer_send(peer, OP_function_info, &args, sizeof(args), NULL, 0);
}

static uint32_t send_limit(struct peer *peer, uint64_t bytes)
{
    struct args_cuCtxSetLimit args = {.limit = CU_LIMIT_STACK_SIZE, .value = bytes};
    return peer_send(peer, OP_cuCtxSetLimit, &args, sizeof(args), NULL, 0);
}

static void call_waits(struct peer *peer, uint32_t (*send)(struct peer *peer, uint64_t object),
                       uint64_t object, const char *name)
{
    uint64_t stream = peer_stream(peer), other = peer_stream(peer);
    CUdeviceptr memory = peer_alloc(peer, SIZE);

    POST(peer, push_begin, .job = 3, .dst = memory, .size = SIZE, .stream = stream);
    uint32_t call = send(peer, object);
    bool early = ASK(peer, cuStreamSynchronize, .hStream = other) == CUDA_SUCCESS;
    push_data(peer, 3);
    is_int(answer(peer, call), CUDA_SUCCESS, "%s waits for the data of a push", name);
    ok(early, "and holds up nobody meanwhile");
    ASK(peer, cuStreamSynchronize, .hStream = stream);
}

static void each_call_waits(struct peer *peer)
{
    uint64_t module = peer_module(peer, code);

    call_waits(peer, send_free, peer_alloc(peer, 4096), "cuMemFree");
    call_waits(peer, send_load, load_image(peer), "cuModuleLoadData");
    call_waits(peer, send_unload, module, "cuModuleUnload");
    call_waits(peer, send_library_load, load_image(peer), "cuLibraryLoadData");
    call_waits(peer, send_library_unload, make_library(peer), "cuLibraryUnload");
    call_waits(peer, send_pool_destroy, make_pool(peer), "cuMemPoolDestroy");
    call_waits(peer, send_trim, make_used_pool(peer), "cuMemPoolTrimTo");
    call_waits(peer, send_info, make_function(peer, peer_module(peer, code)),
               "the first look at a function, which loads its code,");
    call_waits(peer, send_limit, 4096, "cuCtxSetLimit");
}

// A rectangle whose pitch is known only when the driver has given the memory, and which must be
// given back.
static void too_much_is_given_back(void)
{
    struct peer peer;

    peer_start(&peer, &(struct peer_options){.budget = 16 << 20});
    peer_retain(&peer, 0);
    uint64_t stream = peer_stream(&peer);
    CUdeviceptr memory = peer_alloc(&peer, SIZE);
    struct args_cuMemAllocPitch_v2 args = {.WidthInBytes = 4096,
                                           .Height = 8192,
                                           .ElementSizeBytes = 4};
    POST(&peer, push_begin, .job = 1, .dst = memory, .size = SIZE, .stream = stream);
    uint32_t call = peer_send(&peer, OP_cuMemAllocPitch_v2, &args, sizeof(args), NULL, 0);
    push_data(&peer, 1);
    is_int(answer(&peer, call), CUDA_ERROR_OUT_OF_MEMORY,
           "memory over the budget is given back behind a push whose data came later");
    is_int(ASK(&peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS,
           "and the stream goes on");
    peer_stop(&peer);
}

// ---- semaphores that the client signals ----

static void client_gets_through(struct peer *peer)
{
    uint64_t held = peer_stream(peer), other = peer_stream(peer);
    CUdeviceptr memory = peer_alloc(peer, SIZE);

    is_int(ASK(peer, semaphore_wait, .semaphore = 7, .stream = held), CUDA_SUCCESS,
           "a stream waits for another box");
    uint32_t call = free_later(peer);
    POST(peer, push_begin, .job = 10, .dst = memory, .size = SIZE, .stream = other);
    push_data(peer, 10);
    ok(has_data(peer, 10, memory, other),
       "while memory is to be freed the client's copies go through");
    POST(peer, semaphore_signal, .semaphore = 7);
    is_int(answer(peer, call), CUDA_SUCCESS, "it is freed when the other box was there");
}

static void later_semaphores_do_not_starve(struct peer *peer)
{
    uint64_t held = peer_stream(peer), later = peer_stream(peer), other = peer_stream(peer);
    CUdeviceptr memory = peer_alloc(peer, SIZE);

    is_int(ASK(peer, semaphore_wait, .semaphore = 8, .stream = held), CUDA_SUCCESS,
           "a stream is held");
    uint32_t call = free_later(peer);
    is_int(ASK(peer, semaphore_wait, .semaphore = 9, .stream = later), CUDA_SUCCESS,
           "then another one");
    POST(peer, semaphore_signal, .semaphore = 8);
    POST(peer, push_begin, .job = 20, .dst = memory, .size = SIZE, .stream = other);
    POST(peer, semaphore_signal, .semaphore = 9);
    push_data(peer, 20); // whether its stream is held before memory is freed is not known
    is_int(answer(peer, call), CUDA_SUCCESS, "memory is freed when both may go on");
    ok(has_data(peer, 20, memory, other), "and a copy that came meanwhile goes through");
}

static void over_shared_memory(void)
{
    struct peer peer;

    peer_start(&peer, &(struct peer_options){.transport = "shm"});
    peer_retain(&peer, 0);
    uint64_t held = peer_stream(&peer), other = peer_stream(&peer);
    is_int(ASK(&peer, semaphore_wait, .semaphore = 1, .stream = held), CUDA_SUCCESS,
           "shm: a stream is held");
    uint32_t call = free_later(&peer);
    is_int(ASK(&peer, cuStreamSynchronize, .hStream = other), CUDA_SUCCESS,
           "shm: others are answered while memory is to be freed");
    POST(&peer, semaphore_signal, .semaphore = 1);
    is_int(answer(&peer, call), CUDA_SUCCESS, "shm: it is freed when the stream goes on");
    peer_stop(&peer);
}

// ---- the end ----

static void ends(bool newcomer, const char *name)
{
    struct control_ended ended;
    struct peer peer;

    peer_start(&peer, &(struct peer_options){0});
    peer_retain(&peer, 0);
    uint64_t stream = peer_stream(&peer), other = peer_stream(&peer);
    CUdeviceptr memory = peer_alloc(&peer, SIZE);
    POST(&peer, push_begin, .job = 1, .dst = memory, .size = SIZE, .stream = stream);
    free_later(&peer);
    if (newcomer)
        POST(&peer, push_begin, .job = 2, .dst = memory, .size = SIZE, .stream = other);
    shutdown(peer.client, SHUT_RDWR);
    peer_await_end(&peer, &ended);
    is_int(ended.reason, CONTROL_END_REASON_CLIENT_LEFT,
           "a client that goes meanwhile is told of%s", name);
}

int main(void)
{
    struct peer peer;

    setenv("RGPU_SIM_LAZY", "1", 1); // code is loaded when it is first used
    peer_start(&peer, &(struct peer_options){0});
    peer_retain(&peer, 0);
    newcomers_are_kept_out(&peer);
    blocks_come_first(&peer);
    each_call_waits(&peer);
    client_gets_through(&peer);
    later_semaphores_do_not_starve(&peer);
    peer_stop(&peer);
    too_much_is_given_back();
    over_shared_memory();
    ends(false, "");
    ends(true, ", with a copy that is kept out");
    return done();
}
