// SPDX-License-Identifier: BSD-3-Clause
// Errors reach the client where they belong: in the reply, or once in a later one; whatever handle,
// device or address it names, the worker lives on.
#include <string.h>

#include "tests/worker/peer.h"

static CUresult deferred_by(struct peer *peer)
{
    peer->deferred = CUDA_SUCCESS;
    ASK(peer, cuStreamSynchronize);
    return peer->deferred;
}

static void handles(struct peer *peer)
{
    uint64_t stream = peer_stream(peer), event = peer_mint(peer, HANDLE_EVENT);

    is_int(ASK(peer, cuStreamQuery, .hStream = 0xdeadbeef), CUDA_ERROR_INVALID_HANDLE,
           "garbage is no stream");
    is_int(ASK(peer, cuStreamQuery, .hStream = ~0ull), CUDA_ERROR_INVALID_HANDLE, "nor is -1");
    is_int(ASK(peer, cuStreamQuery, .hStream = event), CUDA_ERROR_INVALID_HANDLE,
           "a handle of another type is none");
    is_int(ASK(peer, cuEventQuery, .hEvent = event), CUDA_ERROR_INVALID_HANDLE,
           "a handle that was minted but not bound is none");
    is_int(ASK(peer, cuStreamQuery, .hStream = stream), CUDA_SUCCESS, "a stream is one");
    POST(peer, cuStreamDestroy_v2, .hStream = stream);
    is_int(ASK(peer, cuStreamQuery, .hStream = stream), CUDA_ERROR_INVALID_HANDLE,
           "until it is destroyed");
    POST(peer, cuStreamCreate, .phStream = event);
    is_int(deferred_by(peer), CUDA_ERROR_INVALID_HANDLE, "an event's handle cannot name a stream");
}

static void once(struct peer *peer)
{
    POST(peer, cuEventRecord, .hEvent = 12345);
    POST(peer, cuStreamDestroy_v2, .hStream = 12345);
    is_int(deferred_by(peer), CUDA_ERROR_INVALID_HANDLE,
           "a request that is not awaited fails with the next reply");
    is_int(deferred_by(peer), CUDA_SUCCESS, "and only with that");
}

static void contexts(struct peer *peer)
{
    uint64_t good = peer->context, other = peer_mint(peer, HANDLE_CONTEXT);
    uint64_t stream = peer_mint(peer, HANDLE_STREAM);
    struct reply_cuMemAlloc_v2 reply;

    peer->context = 0;
    is_int(ASK_REPLY(peer, cuMemAlloc_v2, &reply, .bytesize = 64), CUDA_ERROR_INVALID_CONTEXT,
           "without a context there is no memory");
    is_int(ASK(peer, cuCtxCreate_v4, .pctx = other), CUDA_SUCCESS, "a context is created");
    peer->context = other;
    POST(peer, cuStreamCreate, .phStream = stream);
    is_int(ASK(peer, cuStreamQuery, .hStream = stream), CUDA_SUCCESS, "and used");
    peer->context = 0;
    is_int(ASK(peer, cuCtxDestroy_v2, .ctx = other), CUDA_SUCCESS, "and destroyed");
    peer->context = other;
    is_int(ASK(peer, cuCtxSynchronize), CUDA_ERROR_CONTEXT_IS_DESTROYED, "which is said later");
    peer->context = good;
    is_int(ASK(peer, cuStreamQuery, .hStream = stream), CUDA_ERROR_INVALID_HANDLE,
           "its stream went with it");
    is_int(ASK(peer, cuCtxDestroy_v2, .ctx = good), CUDA_ERROR_INVALID_CONTEXT,
           "a primary context cannot be destroyed");
}

static void primary(struct peer *peer)
{
    CUdeviceptr before = peer_alloc(peer, 4096);
    uint64_t old = peer->context;

    is_int(ASK(peer, cuDevicePrimaryCtxReset_v2), CUDA_SUCCESS, "a primary context is reset");
    is_int(ASK(peer, cuCtxSynchronize), CUDA_ERROR_CONTEXT_IS_DESTROYED, "its handle is stale");
    peer_retain(peer, 0);
    ok(peer->context != old, "it can be had again");
    is_int(ASK(peer, cuMemFree_v2, .dptr = before), CUDA_ERROR_INVALID_VALUE,
           "without what it held");
    peer_alloc(peer, 4096);
    is_int(ASK(peer, cuCtxSynchronize), CUDA_SUCCESS, "and it works");
}

static void addresses(struct peer *peer)
{
    CUdeviceptr memory = peer_alloc(peer, 4096);
    uint32_t word = 1;
    struct args_read_rows args = {
        .src = 0x400000, .pitch = 16, .width = 16, .rows = 1, .reply_room = 16};

    POST_TAIL(peer, write_rows, &word, 4, .dst = memory + 4094, .pitch = 4, .width = 4, .rows = 1,
              .bytes = 4);
    is_int(deferred_by(peer), CUDA_ERROR_INVALID_VALUE, "a copy past an allocation's end fails");
    is_int(peer_ask(peer, OP_read_rows, &args, sizeof(args), NULL, 0, NULL, 0, NULL, 0, NULL),
           CUDA_ERROR_INVALID_VALUE, "the worker's own memory cannot be read");
    args.src = memory;
    args.reply_room = 8;
    is_int(peer_ask(peer, OP_read_rows, &args, sizeof(args), NULL, 0, NULL, 0, NULL, 0, NULL),
           CUDA_ERROR_INVALID_VALUE, "rows that have no room in the reply are not sent");
    is_int(ASK(peer, cuDevicePrimaryCtxRetain, .pctx = peer_mint(peer, HANDLE_CONTEXT), .dev = 1),
           CUDA_ERROR_INVALID_DEVICE, "a device that was not granted does not exist");
}

static void images(struct peer *peer)
{
    POST(peer, image_begin, .image = 1, .size = 100);
    is_int(ASK(peer, module_load, .module = peer_mint(peer, HANDLE_MODULE), .image = 1),
           CUDA_ERROR_INVALID_VALUE, "an image that is not complete is not loaded");
    POST_TAIL(peer, image_data, "0123456789", 10, .image = 1, .offset = 95, .bytes = 10);
    is_int(deferred_by(peer), CUDA_ERROR_INVALID_VALUE, "data past its end is refused");
    POST(peer, image_begin, .image = 2, .size = UINT64_MAX);
    is_int(deferred_by(peer), CUDA_ERROR_OUT_OF_MEMORY, "and so is a size beyond all measure");
    POST(peer, image_free, .image = 3);
    is_int(deferred_by(peer), CUDA_ERROR_INVALID_VALUE, "and an image that does not exist");
}

int main(void)
{
    struct peer peer;

    peer_start(&peer, &(struct peer_options){0});
    is_int((int64_t)peer.snapshot->devices, 1, "the welcome describes one device");
    is_str(peer.devices[0].name, "rgpu software GPU", "by its name");
    peer_retain(&peer, 0);
    handles(&peer);
    once(&peer);
    contexts(&peer);
    primary(&peer);
    addresses(&peer);
    images(&peer);
    peer_stop(&peer);
    return done();
}
