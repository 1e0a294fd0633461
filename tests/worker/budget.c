// A session's memory budget holds on every way to allocate, and is what the session sees.
#include "tests/worker/peer.h"

enum { MIB = 1024 * 1024 };

static void info(struct peer *peer, uint64_t want_free, uint64_t want_total, const char *when)
{
    struct reply_cuMemGetInfo_v2 reply = {0};

    is_int(ASK_REPLY(peer, cuMemGetInfo_v2, &reply), CUDA_SUCCESS, "cuMemGetInfo works %s", when);
    is_int((int64_t)reply.free, (int64_t)want_free, "free %s", when);
    is_int((int64_t)reply.total, (int64_t)want_total, "total %s", when);
}

int main(void)
{
    struct reply_cuMemAlloc_v2 first = {0}, second = {0};
    struct reply_cuMemAllocPitch_v2 pitched = {0};
    struct reply_cuMemAllocAsync ordered = {0};
    struct peer peer;

    peer_start(&peer, &(struct peer_options){.budget = 64 * MIB});
    is_int((int64_t)peer.devices[0].total_memory, 64 * MIB, "the device has the budget's size");
    peer_retain(&peer, 0);
    info(&peer, 64 * MIB, 64 * MIB, "at first");
    is_int(ASK_REPLY(&peer, cuMemAlloc_v2, &first, .bytesize = 40 * MIB), CUDA_SUCCESS,
           "40 of 64 MiB are there");
    info(&peer, 24 * MIB, 64 * MIB, "after that");
    is_int(ASK_REPLY(&peer, cuMemAlloc_v2, &second, .bytesize = 25 * MIB),
           CUDA_ERROR_OUT_OF_MEMORY, "25 more are not");
    is_int(ASK_REPLY(&peer, cuMemAlloc_v2, &second, .bytesize = UINT64_MAX),
           CUDA_ERROR_OUT_OF_MEMORY, "nor is more than can be counted");
    is_int(ASK_REPLY(&peer, cuMemAllocPitch_v2, &pitched, .WidthInBytes = MIB, .Height = 25,
                     .ElementSizeBytes = 4),
           CUDA_ERROR_OUT_OF_MEMORY, "nor in rows");
    is_int(ASK_REPLY(&peer, cuMemAllocAsync, &ordered, .bytesize = 25 * MIB),
           CUDA_ERROR_OUT_OF_MEMORY, "nor in stream order");
    info(&peer, 24 * MIB, 64 * MIB, "after what failed");
    is_int(ASK_REPLY(&peer, cuMemAllocAsync, &ordered, .bytesize = 24 * MIB), CUDA_SUCCESS,
           "24 are, in stream order");
    is_int(ASK_REPLY(&peer, cuMemAlloc_v2, &second, .bytesize = 1), CUDA_ERROR_OUT_OF_MEMORY,
           "then not one byte more");
    POST(&peer, cuMemFreeAsync, .dptr = ordered.dptr);
    is_int(ASK(&peer, cuMemFree_v2, .dptr = first.dptr), CUDA_SUCCESS, "all is freed");
    info(&peer, 64 * MIB, 64 * MIB, "at the end");
    is_int(ASK(&peer, cuMemFree_v2, .dptr = first.dptr), CUDA_ERROR_INVALID_VALUE,
           "freeing twice fails");
    info(&peer, 64 * MIB, 64 * MIB, "even then");
    peer_stop(&peer);
    return done();
}
