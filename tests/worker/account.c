// SPDX-License-Identifier: BSD-3-Clause
// Memory counts against a session's budget from before the driver takes it until the GPU has passed
// what still uses it. The software GPU ends the worker where it takes more than the budget and its
// contexts.
#include <stdlib.h>
#include <string.h>

#include "tests/worker/peer.h"

enum { MIB = 1024 * 1024, BUDGET = 64 * MIB, CONTEXT = 8 * MIB };

static uint64_t available(struct peer *peer)
{
    struct reply_cuMemGetInfo_v2 reply = {0};

    if (ASK_REPLY(peer, cuMemGetInfo_v2, &reply))
        bail("cuMemGetInfo fails");
    return reply.free;
}

static CUresult take(struct peer *peer, uint64_t bytes, CUdeviceptr *address)
{
    struct reply_cuMemAlloc_v2 reply = {0};
    CUresult result = ASK_REPLY(peer, cuMemAlloc_v2, &reply, .bytesize = bytes);

    *address = reply.dptr;
    return result;
}

// The whole budget can be allocated, so no earlier allocation remains.
static void all_is_back(struct peer *peer, const char *when)
{
    CUdeviceptr all;

    is_int((int64_t)available(peer), BUDGET, "all is free %s", when);
    is_int(take(peer, BUDGET, &all), CUDA_SUCCESS, "and can be had %s", when);
    is_int(ASK(peer, cuMemFree_v2, .dptr = all), CUDA_SUCCESS, "and given back");
}

// STREAM waits; MEMORY was freed in it after that.
static void counts_until_passed(struct peer *peer, const struct brake *brake, uint64_t stream,
                                const char *what)
{
    CUdeviceptr more;

    is_int((int64_t)available(peer), BUDGET - 40 * MIB - 256, "%s counts while its stream waits",
           what);
    is_int(take(peer, 25 * MIB, &more), CUDA_ERROR_OUT_OF_MEMORY, "and is not there for others");
    brake_release(peer, brake);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS, "the stream goes on");
    is_int(take(peer, 63 * MIB, &more), CUDA_SUCCESS, "then it is");
    is_int(ASK(peer, cuMemFree_v2, .dptr = more), CUDA_SUCCESS, "and all is given back");
}

static void plain_memory_freed_in_a_stream(struct peer *peer)
{
    uint64_t stream = peer_stream(peer);
    struct brake brake;

    brake_make(peer, &brake);
    CUdeviceptr memory = peer_alloc(peer, 40 * MIB);
    brake_hold(peer, &brake, stream);
    POST(peer, cuMemFreeAsync, .dptr = memory, .hStream = stream);
    counts_until_passed(peer, &brake, stream, "memory that was freed in a stream");
    is_int(ASK(peer, cuMemFree_v2, .dptr = brake.word), CUDA_SUCCESS, "the brake is gone");
    all_is_back(peer, "behind a free in a stream");
}

static void rows_are_counted_before_they_are_there(struct peer *peer)
{
    struct reply_cuMemAllocPitch_v2 pitched = {0};

    is_int(ASK_REPLY(peer, cuMemAllocPitch_v2, &pitched, .WidthInBytes = MIB, .Height = 100,
                     .ElementSizeBytes = 4),
           CUDA_ERROR_OUT_OF_MEMORY, "rows of 100 MiB are refused before the driver has them");
    is_int(ASK_REPLY(peer, cuMemAllocPitch_v2, &pitched, .WidthInBytes = 1, .Height = MIB / 4,
                     .ElementSizeBytes = 4),
           CUDA_ERROR_OUT_OF_MEMORY, "and so are narrow rows, which take 512 bytes each");
    is_int(ASK_REPLY(peer, cuMemAllocPitch_v2, &pitched, .WidthInBytes = 600, .Height = 1024,
                     .ElementSizeBytes = 4),
           CUDA_SUCCESS, "a MiB of rows is there");
    is_int((int64_t)available(peer), BUDGET - MIB, "and counts as what it takes");
    is_int(ASK(peer, cuMemFree_v2, .dptr = pitched.dptr), CUDA_SUCCESS, "it is freed");
    all_is_back(peer, "behind rows");
}

static uint64_t own_pool(struct peer *peer)
{
    uint64_t pool = peer_mint(peer, HANDLE_POOL);
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

    is_int(ASK(peer, cuMemPoolCreate, .pool = pool, .poolProps = properties), CUDA_SUCCESS,
           "a pool");
    return pool;
}

static void pools_destroyed_before_their_frees(struct peer *peer)
{
    struct reply_cuMemAllocAsync pooled = {0};
    uint64_t stream = peer_stream(peer), pool = own_pool(peer);
    struct brake brake;

    brake_make(peer, &brake);
    is_int(ASK(peer, cuDeviceSetMemPool, .dev = 0, .pool = pool), CUDA_SUCCESS,
           "the device allocates from it");
    is_int(ASK_REPLY(peer, cuMemAllocAsync, &pooled, .bytesize = 40 * MIB, .hStream = stream),
           CUDA_SUCCESS, "memory of it");
    brake_hold(peer, &brake, stream);
    POST(peer, cuMemFreeAsync, .dptr = pooled.dptr, .hStream = stream);
    is_int(ASK(peer, cuMemPoolDestroy, .pool = pool), CUDA_SUCCESS, "the pool is destroyed");
    counts_until_passed(peer, &brake, stream, "the memory of a pool that was destroyed");
    is_int(ASK_REPLY(peer, cuMemAllocAsync, &pooled, .bytesize = 63 * MIB, .hStream = stream),
           CUDA_SUCCESS, "the device allocates from its own pool again");
    POST(peer, cuMemFreeAsync, .dptr = pooled.dptr, .hStream = stream);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = stream), CUDA_SUCCESS, "that is freed");
    is_int(ASK(peer, cuMemFree_v2, .dptr = brake.word), CUDA_SUCCESS, "the brake is gone");
    all_is_back(peer, "behind a pool");
}

// Memory that waits in one stream is useless to another stream, so the pool grows.
static void pools_do_not_grow_by_what_they_cannot_use(struct peer *peer)
{
    struct reply_cuMemAllocAsync pooled = {0};
    uint64_t first = peer_stream(peer), second = peer_stream(peer);
    struct brake brake;

    brake_make(peer, &brake);
    is_int(ASK_REPLY(peer, cuMemAllocAsync, &pooled, .bytesize = 40 * MIB, .hStream = first),
           CUDA_SUCCESS, "40 of 64 MiB in stream order");
    brake_hold(peer, &brake, first);
    POST(peer, cuMemFreeAsync, .dptr = pooled.dptr, .hStream = first);
    for (int i = 0; i < 3; i++)
        is_int(ASK_REPLY(peer, cuMemAllocAsync, &pooled, .bytesize = 40 * MIB, .hStream = second),
               CUDA_ERROR_OUT_OF_MEMORY, "another stream cannot have them yet");
    struct args_cuMemAllocAsync again = {.bytesize = 40 * MIB, .hStream = first};
    is_int(ASK_REPLY(peer, cuMemAllocAsync, &pooled, .bytesize = 40 * MIB, .hStream = first),
           CUDA_ERROR_OUT_OF_MEMORY, "nor can their own, which no call waits for without end");
    uint32_t call = peer_send(peer, OP_cuMemAllocAsync, &again, sizeof(again), NULL, 0);
    brake_release(peer, &brake);
    is_int(peer_await(peer, call, &pooled, sizeof(pooled), NULL, 0, NULL), CUDA_SUCCESS,
           "their own stream has them when the GPU has passed the free");
    POST(peer, cuMemFreeAsync, .dptr = pooled.dptr, .hStream = first);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = first), CUDA_SUCCESS, "all is freed");
    is_int(ASK(peer, cuMemFree_v2, .dptr = brake.word), CUDA_SUCCESS, "the brake is gone");
    all_is_back(peer, "behind a pool that did not grow");
}

static void handles_of_pools_that_are_none(struct peer *peer)
{
    // The index of the second lies beyond the table of handles.
    static const uint64_t indexes[] = {77, (1u << 28) - 1};

    for (int i = 0; i < 2; i++)
        is_int(ASK(peer, cuMemPoolDestroy, .pool = (uint64_t)HANDLE_POOL << 56 | indexes[i]),
               CUDA_ERROR_INVALID_VALUE, "a pool that is none is not destroyed");
}

// Builds a graph that allocates BYTES on DEVICE and frees them. Returns the executable graph.
static uint64_t allocating_graph(struct peer *peer, int device, uint64_t bytes, uint64_t flags)
{
    uint64_t graph = peer_mint(peer, HANDLE_GRAPH), node = peer_mint(peer, HANDLE_NODE);
    uint64_t exec = peer_mint(peer, HANDLE_EXEC);
    struct wire_alloc_node alloc = {.pool = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                             .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}},
                                    .size = bytes};
    struct args_graph_add_known add = {
        .node = node, .graph = graph, .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .bytes = sizeof(alloc)};
    struct reply_graph_add_known added = {0};

    POST(peer, cuGraphCreate, .phGraph = graph);
    is_int(peer_ask(peer, OP_graph_add_known, &add, sizeof(add), &alloc, sizeof(alloc), &added,
                    sizeof(added), NULL, 0, NULL),
           CUDA_SUCCESS, "a graph allocates %d MiB on device %d", (int)(bytes / MIB), device);
    struct {
        struct wire_dependency after;
        struct wire_free_node node;
    } gives = {{.node = node}, {added.address}};
    POST_TAIL(peer, graph_add, &gives, sizeof(gives), .node = peer_mint(peer, HANDLE_NODE),
              .graph = graph, .type = CU_GRAPH_NODE_TYPE_MEM_FREE, .dependencies = 1,
              .bytes = sizeof(gives));
    CUresult result = ASK(peer, graph_instantiate, .exec = exec, .graph = graph, .flags = flags);
    POST(peer, cuGraphDestroy, .hGraph = graph);
    is_int(result, flags ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS,
           "it is instantiated, or refused");
    return exec;
}

// Returns the error of earlier posted requests.
static CUresult deferred(struct peer *peer, CUresult result)
{
    result = result ? result : peer->deferred;
    peer->deferred = CUDA_SUCCESS;
    return result;
}

static CUresult upload(struct peer *peer, uint64_t exec, uint64_t stream)
{
    POST(peer, cuGraphUpload, .hGraph = exec, .hStream = stream);
    return deferred(peer, ASK(peer, cuStreamSynchronize, .hStream = stream));
}

static CUresult launch(struct peer *peer, uint64_t exec, uint64_t stream)
{
    CUresult result = ASK(peer, graph_launch_known, .exec = exec, .stream = stream);

    return result ? result : ASK(peer, cuStreamSynchronize, .hStream = stream);
}

static void graphs(struct peer *peer, int device)
{
    uint64_t stream = peer_stream(peer);
    CUdeviceptr rest;

    allocating_graph(peer, device, 100 * MIB, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
    uint64_t large = allocating_graph(peer, device, 100 * MIB, 0);
    is_int(upload(peer, large, stream), CUDA_ERROR_OUT_OF_MEMORY,
           "what is too large is not uploaded");
    is_int(launch(peer, large, stream), CUDA_ERROR_OUT_OF_MEMORY, "nor launched");
    uint64_t one = allocating_graph(peer, device, 40 * MIB, 0);
    uint64_t other = allocating_graph(peer, device, 40 * MIB, 0);
    is_int(upload(peer, one, stream), CUDA_SUCCESS, "what fits is uploaded");
    if (!device)
        is_int((int64_t)available(peer), BUDGET - 40 * MIB, "and counts");
    is_int(launch(peer, one, stream), CUDA_SUCCESS, "and launched");
    is_int(launch(peer, other, stream), CUDA_SUCCESS, "another one takes its place");
    is_int(launch(peer, one, stream), CUDA_SUCCESS, "and gives it back");
    if (!device)
        is_int(take(peer, 60 * MIB, &rest), CUDA_SUCCESS, "as it does for other memory");
    if (!device)
        is_int(ASK(peer, cuMemFree_v2, .dptr = rest), CUDA_SUCCESS, "which is freed");
    POST(peer, cuGraphExecDestroy, .hGraphExec = one);
    POST(peer, cuGraphExecDestroy, .hGraphExec = other);
    POST(peer, cuGraphExecDestroy, .hGraphExec = large);
    is_int(ASK(peer, cuDeviceGraphMemTrim, .device = device), CUDA_SUCCESS, "nothing is kept");
    all_is_back(peer, "behind graphs");
}

// Two that wait in streams at once need their memory at once.
static void graphs_at_once(struct peer *peer)
{
    uint64_t streams[] = {peer_stream(peer), peer_stream(peer)}, execs[2];
    struct brake brake;

    brake_make(peer, &brake);
    for (int i = 0; i < 2; i++) {
        execs[i] = allocating_graph(peer, 0, 40 * MIB, 0);
        is_int(launch(peer, execs[i], streams[i]), CUDA_SUCCESS, "it runs alone");
        brake_hold(peer, &brake, streams[i]);
    }
    is_int(ASK(peer, graph_launch_known, .exec = execs[0], .stream = streams[0]), CUDA_SUCCESS,
           "it waits");
    is_int(ASK(peer, graph_launch_known, .exec = execs[1], .stream = streams[1]),
           CUDA_ERROR_OUT_OF_MEMORY, "another one beside it is refused");
    brake_release(peer, &brake);
    for (int i = 0; i < 2; i++) {
        is_int(ASK(peer, cuStreamSynchronize, .hStream = streams[i]), CUDA_SUCCESS, "both go on");
        POST(peer, cuGraphExecDestroy, .hGraphExec = execs[i]);
    }
    is_int(ASK(peer, cuMemFree_v2, .dptr = brake.word), CUDA_SUCCESS, "the brake is gone");
    is_int(ASK(peer, cuDeviceGraphMemTrim, .device = 0), CUDA_SUCCESS, "nothing is kept");
    all_is_back(peer, "behind graphs at once");
}

// The stacks of a kernel are the context's in which it runs.
static void frames_of_another_context(struct peer *peer)
{
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f() {\n"
        ".local .align 4 .b8 frame[2048];\n.reg .b64 %a;\nmov.u64 %a, frame;\n"
        "st.local.u32 [%a], 1;\nret;\n}\n";
    enum { STACKS = 1024 * 16 * 2048 };
    uint64_t other = peer_mint(peer, HANDLE_CONTEXT), primary = peer->context;
    uint64_t graph = peer_mint(peer, HANDLE_GRAPH), library = peer_mint(peer, HANDLE_LIBRARY);
    struct args_cuLibraryGetKernel get = {.pKernel = peer_mint(peer, HANDLE_KERNEL),
                                          .library = library,
                                          .name_length = 2};

    is_int(ASK(peer, cuCtxCreate_v4, .pctx = other, .dev = 0), CUDA_SUCCESS, "a second context");
    POST(peer, image_begin, .image = 7, .size = sizeof(text));
    POST_TAIL(peer, image_data, text, sizeof(text), .image = 7, .bytes = sizeof(text));
    is_int(ASK(peer, library_load, .library = library, .image = 7), CUDA_SUCCESS, "a library");
    is_int(peer_ask(peer, OP_cuLibraryGetKernel, &get, sizeof(get), "f", 2, NULL, 0, NULL, 0, NULL),
           CUDA_SUCCESS, "its kernel");
    POST(peer, cuGraphCreate, .phGraph = graph);
    for (int i = 0; i < 2; i++) {
        struct wire_kernel_node node = {.function = get.pKernel,
                                        .context = i ? primary : other,
                                        .grid = {1, 1, 1},
                                        .block = {1, 1, 1}};
        POST_TAIL(peer, graph_add, &node, sizeof(node), .node = peer_mint(peer, HANDLE_NODE),
                  .graph = graph, .type = CU_GRAPH_NODE_TYPE_KERNEL, .bytes = sizeof(node));
        is_int(deferred(peer, ASK(peer, cuCtxSynchronize)),
               i ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS,
               "a node for that context, or for the other as well");
        is_int((int64_t)available(peer), BUDGET - CONTEXT - STACKS, "with one context's stacks");
    }
    is_int(ASK(peer, cuCtxDestroy_v2, .ctx = other), CUDA_SUCCESS, "the context ends");
    POST(peer, cuGraphDestroy, .hGraph = graph);
    all_is_back(peer, "behind its stacks");
}

int main(void)
{
    struct peer peer;

    setenv("RGPU_SIM_CONTEXT_COST", "8M", 1);
    setenv("RGPU_SIM_LIMIT", "72M", 1);
    peer_start(&peer, &(struct peer_options){.budget = BUDGET, .devices = 2});
    peer_retain(&peer, 0);
    plain_memory_freed_in_a_stream(&peer);
    pools_destroyed_before_their_frees(&peer);
    pools_do_not_grow_by_what_they_cannot_use(&peer);
    rows_are_counted_before_they_are_there(&peer);
    handles_of_pools_that_are_none(&peer);
    graphs(&peer, 0);
    graphs(&peer, 1);
    graphs_at_once(&peer);
    frames_of_another_context(&peer);
    peer_stop(&peer);
    return done();
}
