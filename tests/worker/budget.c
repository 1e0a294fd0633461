// SPDX-License-Identifier: BSD-3-Clause
// A session's memory budget holds for every way to use memory, and the session sees it as the
// device's memory.
#include <stdlib.h>
#include <string.h>

#include "tests/worker/peer.h"

enum { MIB = 1024 * 1024 };

static void info(struct peer *peer, uint64_t want_free, uint64_t want_total, const char *when)
{
    struct reply_cuMemGetInfo_v2 reply = {0};

    is_int(ASK_REPLY(peer, cuMemGetInfo_v2, &reply), CUDA_SUCCESS, "cuMemGetInfo works %s", when);
    is_int((int64_t)reply.free, (int64_t)want_free, "free %s", when);
    is_int((int64_t)reply.total, (int64_t)want_total, "total %s", when);
}

static uint32_t send_text(struct peer *peer, const char *text)
{
    static uint32_t image = 1000;
    size_t size = strlen(text) + 1;

    POST(peer, image_begin, .image = ++image, .size = size);
    POST_TAIL(peer, image_data, text, size, .image = image, .bytes = (uint32_t)size);
    return image;
}

// Loads a text with a variable of that many bytes; the module, or 0 and *RESULT.
static uint64_t load_array(struct peer *peer, const char *extent, CUresult *result)
{
    uint64_t module = peer_mint(peer, HANDLE_MODULE);
    char text[256];
    snprintf(text, sizeof(text),
             ".version 8.0\n.target sm_90\n.address_size 64\n"
             ".visible .global .align 4 .b8 variable[%s];\n"
             ".visible .entry f() { ret; }\n",
             extent);
    uint32_t image = send_text(peer, text);
    *result = ASK(peer, module_load, .module = module, .image = image);
    POST(peer, image_free, .image = image);
    return *result ? 0 : module;
}

static uint64_t load_variables(struct peer *peer, uint64_t bytes, CUresult *result)
{
    char extent[32];

    snprintf(extent, sizeof(extent), "%llu", (unsigned long long)bytes);
    return load_array(peer, extent, result);
}

static void variables(struct peer *peer)
{
    CUresult result;
    uint64_t module = load_variables(peer, 24 * MIB, &result);
    struct args_cuModuleUnload unload = {.hmod = module};

    is_int(result, CUDA_SUCCESS, "a module with variables of 24 MiB");
    info(peer, 40 * MIB, 64 * MIB, "with it");
    load_variables(peer, 41 * MIB, &result);
    is_int(result, CUDA_ERROR_OUT_OF_MEMORY, "one with 41 more is too much");
    load_array(peer, "1024*1024*(8<<3)/2+1024*1024*9", &result);
    is_int(result, CUDA_ERROR_OUT_OF_MEMORY, "also where the size is an expression");
    load_array(peer, "SIZE", &result);
    is_int(result, CUDA_ERROR_INVALID_PTX, "a size that cannot be read is refused");
    info(peer, 40 * MIB, 64 * MIB, "after that");
    is_int(peer_ask(peer, OP_cuModuleUnload, &unload, sizeof(unload), NULL, 0, NULL, 0, NULL, 0,
                    NULL),
           CUDA_SUCCESS, "it is unloaded");
    info(peer, 64 * MIB, 64 * MIB, "after it");
}

static void limits(struct peer *peer)
{
    is_int(ASK(peer, cuCtxSetLimit, .limit = CU_LIMIT_MALLOC_HEAP_SIZE, .value = 20 * MIB),
           CUDA_SUCCESS, "a heap of 20 MiB for kernels");
    info(peer, 44 * MIB, 64 * MIB, "with it");
    is_int(ASK(peer, cuCtxSetLimit, .limit = CU_LIMIT_MALLOC_HEAP_SIZE, .value = 65 * MIB),
           CUDA_ERROR_OUT_OF_MEMORY, "one of 65 is too much");
    is_int(ASK(peer, cuCtxSetLimit, .limit = CU_LIMIT_MALLOC_HEAP_SIZE, .value = 10 * MIB),
           CUDA_SUCCESS, "and 10 are less");
    info(peer, 54 * MIB, 64 * MIB, "with less");
    is_int(ASK(peer, cuCtxSetLimit, .limit = CU_LIMIT_STACK_SIZE, .value = 512 * 1024),
           CUDA_ERROR_OUT_OF_MEMORY, "large stacks for all threads are too much");
    is_int(ASK(peer, cuCtxSetLimit, .limit = CU_LIMIT_STACK_SIZE, .value = 1024), CUDA_SUCCESS,
           "stacks of the usual size cost nothing");
    is_int(ASK(peer, cuCtxSetLimit, .limit = (CUlimit)77, .value = 1), CUDA_ERROR_INVALID_VALUE,
           "a limit that does not exist is refused");
    is_int(ASK(peer, cuDevicePrimaryCtxReset_v2, .dev = 0), CUDA_SUCCESS, "the context is reset");
    peer_retain(peer, 0);
    info(peer, 64 * MIB, 64 * MIB, "and its heap has gone");
}

static CUresult run_alone(struct peer *peer, uint64_t function)
{
    CUresult result = ASK(peer, launch, .function = function, .grid_x = 1, .grid_y = 1, .grid_z = 1,
                          .block_x = 1, .block_y = 1, .block_z = 1);

    return result ? result : ASK(peer, cuCtxSynchronize);
}

// The driver makes stacks for all threads that can be resident, as large as a kernel's threads
// need.
static void frames(struct peer *peer)
{
    enum { THREADS = 16 * 2048 };
    static const uint32_t sizes[] = {1024, 2048, 1024 * 64};
    CUresult want[] = {CUDA_SUCCESS, CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY};

    for (int i = 0; i < 3; i++) {
        uint64_t module = peer_mint(peer, HANDLE_MODULE);
        char text[512];
        snprintf(text, sizeof(text),
                 ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f() {\n"
                 ".local .align 4 .b8 frame[%u];\n.reg .b64 %%a;\nmov.u64 %%a, frame;\n"
                 "st.local.u32 [%%a], 1;\nret;\n}\n",
                 sizes[i]);
        uint32_t image = send_text(peer, text);
        is_int(ASK(peer, module_load, .module = module, .image = image), CUDA_SUCCESS,
               "a kernel with frames of %u bytes", sizes[i]);
        POST(peer, image_free, .image = image);
        is_int(run_alone(peer, peer_function(peer, module, "f")), want[i], "it runs or is refused");
        info(peer, (i ? 32 : 64) * MIB, 64 * MIB, "with its stacks");
    }
    is_int(32 * MIB, (sizes[1] - 1024) * THREADS, "one frame for each resident thread");
    is_int(ASK(peer, cuCtxSetLimit, .limit = CU_LIMIT_STACK_SIZE, .value = 1024), CUDA_SUCCESS,
           "a smaller limit");
    info(peer, 64 * MIB, 64 * MIB, "gives the stacks back");
}

static CUresult use_library(struct peer *peer, uint64_t library)
{
    struct args_cuLibraryGetKernel get = {.pKernel = peer_mint(peer, HANDLE_KERNEL),
                                          .library = library,
                                          .name_length = 2};

    is_int(peer_ask(peer, OP_cuLibraryGetKernel, &get, sizeof(get), "f", 2, NULL, 0, NULL, 0, NULL),
           CUDA_SUCCESS, "a kernel of the library");
    return run_alone(peer, get.pKernel);
}

static void libraries(struct peer *peer, uint64_t second)
{
    uint64_t library = peer_mint(peer, HANDLE_LIBRARY), primary = peer->context;
    uint64_t cost = peer->ready.devices[0].context_cost;
    struct args_cuLibraryUnload unload = {.library = library};
    uint32_t image = send_text(peer, ".version 8.0\n.target sm_90\n.address_size 64\n"
                                     ".visible .global .align 4 .b8 variable[8388608];\n"
                                     ".visible .entry f() { ret; }\n");

    is_int(ASK(peer, library_load, .library = library, .image = image), CUDA_SUCCESS,
           "a library with a variable of 8 MiB");
    POST(peer, image_free, .image = image);
    info(peer, 64 * MIB - cost, 64 * MIB, "before it is used");
    is_int(use_library(peer, library), CUDA_SUCCESS, "it is used in one context");
    info(peer, 56 * MIB - cost, 64 * MIB, "with its variables");
    peer->context = second;
    is_int(use_library(peer, library), CUDA_SUCCESS, "and in another");
    info(peer, 48 * MIB - cost, 64 * MIB, "with its variables twice");
    peer->context = primary;
    is_int(peer_ask(peer, OP_cuLibraryUnload, &unload, sizeof(unload), NULL, 0, NULL, 0, NULL, 0,
                    NULL),
           CUDA_SUCCESS, "it is unloaded");
    info(peer, 64 * MIB - cost, 64 * MIB, "and both are back");
}

static void contexts(struct peer *peer)
{
    uint64_t first = peer_mint(peer, HANDLE_CONTEXT), second = peer_mint(peer, HANDLE_CONTEXT);
    uint64_t cost = peer->ready.devices[0].context_cost;
    CUresult result;

    ok(cost > 0 && cost <= 64 * MIB && 2 * cost > 64 * MIB - MIB,
       "one more context fits the budget, two do not (%llu bytes each)", (unsigned long long)cost);
    is_int(ASK(peer, cuCtxCreate_v4, .pctx = first, .dev = 0), CUDA_SUCCESS, "a second context");
    info(peer, 64 * MIB - cost, 64 * MIB, "with it");
    is_int(ASK(peer, cuCtxCreate_v4, .pctx = second, .dev = 0), CUDA_ERROR_OUT_OF_MEMORY,
           "a third is too much");
    libraries(peer, first);
    uint64_t primary = peer->context;
    peer->context = first;
    load_variables(peer, MIB, &result);
    is_int(result, CUDA_SUCCESS, "a module in the second context");
    info(peer, 63 * MIB - cost, 64 * MIB, "with that");
    peer->context = primary;
    is_int(ASK(peer, cuCtxDestroy_v2, .ctx = first), CUDA_SUCCESS, "the context is destroyed");
    info(peer, 64 * MIB, 64 * MIB, "and all that it had is back");
}

// Takes 40 MiB from the device's pool in stream order, and frees them.
static void take_and_free(struct peer *peer, uint64_t stream)
{
    struct reply_cuMemAllocAsync taken = {0};

    is_int(ASK_REPLY(peer, cuMemAllocAsync, &taken, .bytesize = 40 * MIB, .hStream = stream),
           CUDA_SUCCESS, "40 MiB from the pool");
    POST(peer, cuMemFreeAsync, .dptr = taken.dptr, .hStream = stream);
}

// A pool keeps memory that was freed until its stream comes to that, and for longer where its
// release threshold says so.
static void pools(struct peer *peer)
{
    uint64_t pool = peer_mint(peer, HANDLE_POOL), stream = peer_mint(peer, HANDLE_STREAM);
    uint64_t own = peer_mint(peer, HANDLE_POOL);
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    struct reply_cuMemAllocFromPoolAsync pooled = {0};
    struct reply_cuMemAlloc_v2 plain = {0};

    POST(peer, cuStreamCreate, .phStream = stream, .Flags = CU_STREAM_NON_BLOCKING);
    is_int(ASK(peer, semaphore_wait, .semaphore = 77, .stream = stream), CUDA_SUCCESS,
           "a stream is held");
    take_and_free(peer, stream);
    info(peer, 24 * MIB, 64 * MIB, "before the stream has come to the free");
    is_int(ASK_REPLY(peer, cuMemAlloc_v2, &plain, .bytesize = 25 * MIB), CUDA_ERROR_OUT_OF_MEMORY,
           "what is not freed yet cannot be had");
    POST(peer, semaphore_signal, .semaphore = 77);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS, "it goes on");
    info(peer, 64 * MIB, 64 * MIB, "when it has come to it");

    is_int(ASK(peer, cuDeviceGetDefaultMemPool, .pool_out = pool, .dev = 0), CUDA_SUCCESS,
           "the device's pool");
    is_int(ASK(peer, cuMemPoolSetAttribute, .pool = pool, .attr = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
               .value = UINT64_MAX),
           CUDA_SUCCESS, "is to keep everything");
    take_and_free(peer, stream);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS, "all is freed");
    info(peer, 24 * MIB, 64 * MIB, "while the pool keeps it");
    is_int(ASK(peer, cuMemPoolTrimTo, .pool = pool, .minBytesToKeep = 10 * MIB), CUDA_SUCCESS,
           "the pool is trimmed");
    info(peer, 54 * MIB, 64 * MIB, "with what it still keeps");
    is_int(ASK_REPLY(peer, cuMemAlloc_v2, &plain, .bytesize = 60 * MIB), CUDA_SUCCESS,
           "it gives that up before an allocation fails");
    info(peer, 4 * MIB, 64 * MIB, "after that");
    is_int(ASK(peer, cuMemFree_v2, .dptr = plain.dptr), CUDA_SUCCESS, "freed");

    is_int(ASK(peer, cuMemPoolCreate, .pool = own, .poolProps = properties), CUDA_SUCCESS,
           "a pool of the client's own");
    is_int(ASK_REPLY(peer, cuMemAllocFromPoolAsync, &pooled, .bytesize = 30 * MIB, .pool = own,
                     .hStream = stream),
           CUDA_SUCCESS, "30 MiB of it");
    is_int(ASK(peer, cuMemPoolDestroy, .pool = own), CUDA_SUCCESS, "it is destroyed");
    info(peer, 34 * MIB, 64 * MIB, "with what it gave");
    POST(peer, cuMemFreeAsync, .dptr = pooled.dptr, .hStream = stream);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS, "that is freed");
    info(peer, 64 * MIB, 64 * MIB, "and nothing is left of it");
    POST(peer, cuStreamDestroy_v2, .hStream = stream);
}

int main(void)
{
    struct reply_cuMemAlloc_v2 first = {0}, second = {0};
    struct reply_cuMemAllocPitch_v2 pitched = {0};
    struct reply_cuMemAllocAsync ordered = {0};
    struct peer peer;

    setenv("RGPU_SIM_CONTEXT_COST", "40M", 1);
    peer_start(&peer, &(struct peer_options){.budget = 64 * MIB});
    is_int((int64_t)peer.devices[0].total_memory, 64 * MIB, "the device has the budget's size");
    peer_retain(&peer, 0);
    info(&peer, 64 * MIB, 64 * MIB, "at first");
    is_int(ASK_REPLY(&peer, cuMemAlloc_v2, &first, .bytesize = 40 * MIB), CUDA_SUCCESS,
           "40 of 64 MiB are there");
    info(&peer, 24 * MIB, 64 * MIB, "after that");
    is_int(ASK_REPLY(&peer, cuMemAlloc_v2, &second, .bytesize = 25 * MIB), CUDA_ERROR_OUT_OF_MEMORY,
           "25 more are not");
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
    pools(&peer);
    variables(&peer);
    frames(&peer);
    limits(&peer);
    contexts(&peer);
    peer_stop(&peer);
    return done();
}
