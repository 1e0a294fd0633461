// SPDX-License-Identifier: BSD-3-Clause
// Physical memory counts against the budget from its creation until it has neither a handle nor a
// mapping. Requests that name unknown objects change nothing.
#include <stdlib.h>
#include <string.h>

#include "tests/worker/peer.h"

enum { MIB = 1024 * 1024 };

static void left(struct peer *peer, uint64_t want, const char *when)
{
    struct reply_cuMemGetInfo_v2 reply = {0};

    if (ASK_REPLY(peer, cuMemGetInfo_v2, &reply) != CUDA_SUCCESS)
        fail("cuMemGetInfo %s", when);
    is_int((int64_t)reply.free, (int64_t)want, "what is left %s", when);
}

static CUmemAllocationProp on_device(void)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 12345}};
}

static CUresult make(struct peer *peer, uint64_t *memory, uint64_t size)
{
    struct reply_memory_create reply = {0};

    *memory = peer_mint(peer, HANDLE_MEMORY);
    return ASK_REPLY(peer, memory_create, &reply, .memory = *memory, .dev = 0, .size = size,
                     .prop = on_device());
}

static uint64_t reserve(struct peer *peer, uint64_t size)
{
    struct reply_memory_reserve reply = {0};

    is_int(ASK_REPLY(peer, memory_reserve, &reply, .dev = 0, .size = size), CUDA_SUCCESS,
           "addresses are reserved");
    return reply.address;
}

static CUresult unmap(struct peer *peer, uint64_t address, uint64_t size)
{
    return ASK(peer, memory_unmap, .dev = 0, .address = address, .size = size);
}

// The failure that a request without an answer has left for the next one.
static CUresult failure_of_earlier(struct peer *peer)
{
    peer->deferred = CUDA_SUCCESS;
    ASK(peer, cuStreamSynchronize);
    return peer->deferred;
}

static void budget(struct peer *peer)
{
    uint64_t address = reserve(peer, 128 * MIB), memory, more;

    is_int(make(peer, &memory, 40 * MIB), CUDA_SUCCESS, "40 of 64 MiB are made");
    left(peer, 24 * MIB, "with them");
    is_int(make(peer, &more, 25 * MIB), CUDA_ERROR_OUT_OF_MEMORY, "25 more are not");
    is_int(make(peer, &more, UINT64_MAX - MIB + 1), CUDA_ERROR_OUT_OF_MEMORY,
           "nor is more than can be counted");
    left(peer, 24 * MIB, "after what failed");
    POST(peer, memory_map, .memory = memory, .address = address, .size = 40 * MIB);
    POST(peer, memory_map, .memory = memory, .address = address + 64 * MIB, .size = 40 * MIB);
    left(peer, 24 * MIB, "when it is mapped twice");
    POST(peer, memory_release, .memory = memory);
    left(peer, 24 * MIB, "when its handle has gone");
    is_int(unmap(peer, address, 40 * MIB), CUDA_SUCCESS, "one mapping ends");
    left(peer, 24 * MIB, "while the other keeps it");
    POST(peer, memory_hold, .memory = memory);
    is_int(unmap(peer, address + 64 * MIB, 40 * MIB), CUDA_SUCCESS, "the other ends");
    left(peer, 24 * MIB, "while the handle that came back keeps it");
    POST(peer, memory_release, .memory = memory);
    left(peer, 64 * MIB, "when nothing keeps it");
    POST(peer, memory_unreserve, .dev = 0, .address = address, .size = 128 * MIB);
    is_int(failure_of_earlier(peer), CUDA_SUCCESS, "nothing of that has failed");
}

static void wrong_names(struct peer *peer)
{
    uint64_t address = reserve(peer, 4 * MIB), memory;
    CUmemAccessDesc open = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    struct args_memory_open many = {.dev = 0, .address = address, .size = MIB, .count = 1000};

    is_int(make(peer, &memory, MIB), CUDA_SUCCESS, "some memory");
    POST(peer, memory_map, .memory = memory ^ 1, .address = address, .size = MIB);
    is_int(failure_of_earlier(peer), CUDA_ERROR_INVALID_HANDLE, "a handle of nothing");
    POST(peer, memory_map, .memory = memory, .address = 0x1000, .size = MIB);
    is_int(failure_of_earlier(peer), CUDA_ERROR_INVALID_VALUE, "a place that is not reserved");
    POST(peer, memory_map, .memory = memory, .address = address, .size = 2 * MIB);
    is_int(failure_of_earlier(peer), CUDA_ERROR_NOT_SUPPORTED, "more than the memory has");
    is_int(unmap(peer, address, MIB), CUDA_ERROR_INVALID_VALUE, "what is not mapped");
    POST(peer, memory_map, .memory = memory, .address = address, .size = MIB);
    is_int(unmap(peer, address, MIB / 2), CUDA_ERROR_INVALID_VALUE, "half of a mapping");
    many.list[0] = open;
    peer_post(peer, OP_memory_open, &many, sizeof(many), NULL, 0);
    is_int(failure_of_earlier(peer), CUDA_ERROR_INVALID_VALUE, "more wishes than came");
    POST(peer, memory_open, .dev = 0, .address = address, .size = MIB, .count = 1,
         .list = {{{CU_MEM_LOCATION_TYPE_DEVICE, 99}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}});
    is_int(failure_of_earlier(peer), CUDA_ERROR_INVALID_DEVICE, "a device that is not granted");
    POST(peer, memory_unreserve, .dev = 0, .address = address, .size = 4 * MIB);
    is_int(failure_of_earlier(peer), CUDA_ERROR_INVALID_VALUE, "addresses that are in use");
    POST(peer, memory_release, .memory = memory);
    POST(peer, memory_release, .memory = memory ^ 1);
    is_int(failure_of_earlier(peer), CUDA_ERROR_INVALID_HANDLE, "what was never made");
    is_int(unmap(peer, address, MIB), CUDA_SUCCESS, "the mapping is there after all that");
    left(peer, 64 * MIB, "and nothing is lost");
}

int main(void)
{
    struct peer peer;

    setenv("RGPU_SIM_CONTEXT_COST", "40M", 1);
    peer_start(&peer, &(struct peer_options){.budget = 64 * MIB});
    peer_retain(&peer, 0);
    budget(&peer);
    wrong_names(&peer);
    peer_stop(&peer);
    return done();
}
