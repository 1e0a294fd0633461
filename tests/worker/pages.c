// SPDX-License-Identifier: BSD-3-Clause
// A budget counts the pages in which the driver takes memory, and a page that several allocations
// share once.
#include <stdlib.h>

#include "tests/worker/peer.h"

enum { MIB = 1024 * 1024, SMALL = 1000 };

static int64_t left(struct peer *peer)
{
    struct reply_cuMemGetInfo_v2 reply = {0};

    if (ASK_REPLY(peer, cuMemGetInfo_v2, &reply))
        bail("cuMemGetInfo fails");
    return (int64_t)reply.free;
}

static uint64_t take(struct peer *peer, uint64_t size, CUresult want)
{
    struct reply_cuMemAlloc_v2 reply = {0};
    CUresult result = ASK_REPLY(peer, cuMemAlloc_v2, &reply, .bytesize = size);

    if (result != want)
        is_int(result, want, "an allocation of %llu bytes", (unsigned long long)size);
    return reply.dptr;
}

static void give(struct peer *peer, uint64_t address)
{
    if (ASK(peer, cuMemFree_v2, .dptr = address))
        bail("cuMemFree fails");
}

// Instantiates a graph with `nodes` nodes that may run at once.
static CUresult instantiate(struct peer *peer, int nodes, uint64_t exec)
{
    uint64_t graph = peer_mint(peer, HANDLE_GRAPH);

    POST(peer, cuGraphCreate, .phGraph = graph);
    for (int i = 0; i < nodes; i++)
        POST(peer, graph_add, .node = peer_mint(peer, HANDLE_NODE), .graph = graph,
             .type = CU_GRAPH_NODE_TYPE_EMPTY);
    CUresult result = ASK(peer, graph_instantiate, .exec = exec, .graph = graph);
    POST(peer, cuGraphDestroy, .hGraph = graph);
    return result;
}

static void nodes_of_graphs(struct peer *peer)
{
    enum { NODE = 2304, BRANCH = 96 * 1024, COST = 100 * NODE + 99 * BRANCH };
    uint64_t execs[3];

    for (int i = 0; i < 3; i++)
        execs[i] = peer_mint(peer, HANDLE_EXEC);
    is_int(instantiate(peer, 1000, execs[0]), CUDA_ERROR_OUT_OF_MEMORY,
           "a graph with more branches than the budget allows is refused");
    is_int(left(peer), 64 * MIB, "and counts no more");
    is_int(instantiate(peer, 100, execs[0]), CUDA_SUCCESS, "one with fewer is not");
    is_int(left(peer), 64 * MIB - COST, "and counts");
    is_int(instantiate(peer, 100, execs[1]), CUDA_SUCCESS, "so does another one beside it");
    is_int(left(peer), 64 * MIB - 2 * COST, "for itself");
    for (int i = 0; i < 2; i++)
        POST(peer, cuGraphExecDestroy, .hGraphExec = execs[i]);
    is_int(left(peer), 64 * MIB - 2 * COST, "the driver keeps for later graphs what it has made");
    is_int(instantiate(peer, 150, execs[2]), CUDA_SUCCESS, "of which one is made");
    is_int(left(peer), 64 * MIB - 2 * COST, "and costs nothing more");
    POST(peer, cuGraphExecDestroy, .hGraphExec = execs[2]);
}

// Adds a conditional node with one body to GRAPH, and returns the body.
static uint64_t add_condition(struct peer *peer, uint64_t graph, uint64_t *node)
{
    struct reply_cuGraphConditionalHandleCreate condition = {0};
    struct {
        struct wire_conditional_node node;
        uint64_t body;
    } wire = {.node = {.context = peer->context, .type = CU_GRAPH_COND_TYPE_IF, .size = 1},
              .body = peer_mint(peer, HANDLE_GRAPH)};

    is_int(ASK_REPLY(peer, cuGraphConditionalHandleCreate, &condition, .hGraph = graph,
                     .ctx = peer->context),
           CUDA_SUCCESS, "a condition");
    wire.node.handle = condition.pHandle_out;
    *node = peer_mint(peer, HANDLE_NODE);
    POST_TAIL(peer, graph_add, &wire, sizeof(wire), .node = *node, .graph = graph,
              .type = CU_GRAPH_NODE_TYPE_CONDITIONAL, .bytes = sizeof(wire));
    return wire.body;
}

static void add_empty(struct peer *peer, uint64_t graph, int nodes)
{
    for (int i = 0; i < nodes; i++)
        POST(peer, graph_add, .node = peer_mint(peer, HANDLE_NODE), .graph = graph,
             .type = CU_GRAPH_NODE_TYPE_EMPTY);
}

static CUresult instantiate_of(struct peer *peer, uint64_t graph, uint64_t exec)
{
    CUresult result = ASK(peer, graph_instantiate, .exec = exec, .graph = graph);

    POST(peer, cuGraphDestroy, .hGraph = graph);
    return result;
}

static void bodies_of_conditional_nodes(struct peer *peer)
{
    enum { NODE = 2304, BRANCH = 96 * 1024, COST = 102 * NODE + 99 * BRANCH };
    uint64_t graph = peer_mint(peer, HANDLE_GRAPH), exec = peer_mint(peer, HANDLE_EXEC), node;
    int64_t before = left(peer);

    POST(peer, cuGraphCreate, .phGraph = graph);
    uint64_t body = add_condition(peer, add_condition(peer, graph, &node), &node);
    add_empty(peer, body, 1000);
    is_int(ASK(peer, cuCtxSynchronize), CUDA_SUCCESS, "a condition in the body of another");
    is_int(instantiate_of(peer, graph, exec), CUDA_ERROR_OUT_OF_MEMORY,
           "with more branches than the budget allows it is refused");
    graph = peer_mint(peer, HANDLE_GRAPH);
    POST(peer, cuGraphCreate, .phGraph = graph);
    body = add_condition(peer, add_condition(peer, graph, &node), &node);
    add_empty(peer, body, 100);
    POST(peer, cuGraphDestroy, .hGraph = body);
    is_int(left(peer), before, "nothing counts before");
    is_int(peer->deferred, CUDA_ERROR_INVALID_VALUE, "a body is not the client's to destroy");
    peer->deferred = CUDA_SUCCESS;
    is_int(instantiate_of(peer, graph, exec), CUDA_SUCCESS, "with fewer it is not");
    is_int(left(peer), before - COST, "and the nodes of both bodies count");
    POST(peer, cuGraphExecDestroy, .hGraphExec = exec);
    is_int(ASK(peer, cuDevicePrimaryCtxReset_v2, .dev = 0), CUDA_SUCCESS, "the context is reset");
    peer_retain(peer, 0);
}

static CUresult load_module(struct peer *peer, uint64_t module)
{
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry f() { ret; }\n";
    static uint32_t image = 1000;

    POST(peer, image_begin, .image = ++image, .size = sizeof(text));
    POST_TAIL(peer, image_data, text, sizeof(text), .image = image, .bytes = sizeof(text));
    CUresult result = ASK(peer, module_load, .module = module, .image = image);
    POST(peer, image_free, .image = image);
    return result;
}

static void code_of_modules(struct peer *peer)
{
    uint64_t modules[32];

    for (int i = 0; i < 32; i++) {
        modules[i] = peer_mint(peer, HANDLE_MODULE);
        if (load_module(peer, modules[i]))
            bail("a module is not loaded");
    }
    is_int(left(peer), 0, "the code of 32 small modules takes a page each");
    is_int(load_module(peer, peer_mint(peer, HANDLE_MODULE)), CUDA_ERROR_OUT_OF_MEMORY,
           "one more is over the budget");
    for (int i = 0; i < 32; i++)
        POST(peer, cuModuleUnload, .hmod = modules[i]);
    is_int(left(peer), 64 * MIB, "all of them are given back");
    if (load_module(peer, modules[0] = peer_mint(peer, HANDLE_MODULE)))
        bail("a module is not loaded");
    is_int(left(peer), 62 * MIB, "one is loaded, which ends with its context");
    is_int(ASK(peer, cuDevicePrimaryCtxReset_v2, .dev = 0), CUDA_SUCCESS, "that is reset");
    peer_retain(peer, 0);
    is_int(left(peer), 64 * MIB, "with nothing left of it");
}

static CUresult make_streams(struct peer *peer, int count, uint64_t *streams)
{
    for (int i = 0; i < count; i++)
        POST(peer, cuStreamCreate, .phStream = streams[i] = peer_mint(peer, HANDLE_STREAM),
             .Flags = CU_STREAM_NON_BLOCKING);
    left(peer); // reports the results of posted requests
    CUresult result = peer->deferred;
    peer->deferred = CUDA_SUCCESS;
    return result;
}

static void end_streams(struct peer *peer, int count, const uint64_t *streams)
{
    for (int i = 0; i < count; i++)
        POST(peer, cuStreamDestroy_v2, .hStream = streams[i]);
}

// The software GPU ends the worker where it takes more for streams than is counted.
static void streams(struct peer *peer)
{
    enum { STREAM = 560 * 1024, MOST = 64 * MIB / STREAM };
    static uint64_t list[MOST], more[8];

    for (int i = 0; i < 3; i++) {
        is_int(make_streams(peer, 10, list), CUDA_SUCCESS, "ten streams");
        is_int(left(peer), 64 * MIB - 10 * STREAM, "take memory");
        end_streams(peer, 10, list);
        is_int(left(peer), 64 * MIB - 10 * STREAM, "which the driver keeps for later ones");
    }
    is_int(make_streams(peer, MOST, list), CUDA_SUCCESS, "as many as fit");
    is_int(make_streams(peer, 1, more), CUDA_ERROR_OUT_OF_MEMORY, "one more does not");
    end_streams(peer, 8, list);
    is_int(make_streams(peer, 8, more), CUDA_SUCCESS, "but eight in place of eight that are over");
    is_int(ASK(peer, cuDevicePrimaryCtxReset_v2, .dev = 0), CUDA_SUCCESS, "the context is reset");
    peer_retain(peer, 0);
    is_int(left(peer), 64 * MIB, "and gives all of it back");
}

// The memory of a stream with work is no other stream's.
static void streams_with_work(struct peer *peer)
{
    enum { STREAM = 560 * 1024 };
    uint64_t first[3], more;
    struct brake brake;

    brake_make(peer, &brake);
    if (make_streams(peer, 3, first))
        bail("streams are not made");
    int64_t before = left(peer);
    brake_hold(peer, &brake, first[0]);
    end_streams(peer, 1, first);
    is_int(make_streams(peer, 1, &more), CUDA_SUCCESS, "a stream beside one that still works");
    is_int(left(peer), before - STREAM, "takes memory of its own");
    brake_release(peer, &brake);
    is_int(ASK(peer, cuCtxSynchronize), CUDA_SUCCESS, "that one comes to its end");
    is_int(make_streams(peer, 1, first), CUDA_SUCCESS, "and the next stream");
    is_int(left(peer), before - STREAM, "has its memory");
    is_int(ASK(peer, cuDevicePrimaryCtxReset_v2, .dev = 0), CUDA_SUCCESS, "the context is reset");
    peer_retain(peer, 0);
}

// The driver has the memory back when a call waits for the stream, and no call of the client does.
// The software GPU ends a process that has more than RGPU_SIM_LIMIT.
static void freed_in_streams(struct peer *peer)
{
    uint64_t stream = peer_mint(peer, HANDLE_STREAM), memory;
    CUresult result =
        ASK(peer, cuStreamCreate, .phStream = stream, .Flags = CU_STREAM_NON_BLOCKING);

    is_int(result, CUDA_SUCCESS, "a stream");
    for (int i = 0; i < 4; i++) {
        memory = take(peer, 40 * MIB, CUDA_SUCCESS);
        POST(peer, cuMemFreeAsync, .dptr = memory, .hStream = stream);
        while ((result = ASK(peer, cuStreamQuery, .hStream = stream)) == CUDA_ERROR_NOT_READY)
            ;
        is_int(result, CUDA_SUCCESS, "memory that is freed in a stream is there for the next one");
    }
    is_int(ASK(peer, cuDevicePrimaryCtxReset_v2, .dev = 0), CUDA_SUCCESS, "the context is reset");
    peer_retain(peer, 0);
    is_int(left(peer), 64 * MIB, "and gives all of it back");
}

int main(void)
{
    static uint64_t small[SMALL];
    struct peer peer;

    setenv("RGPU_SIM_PAGE", "2M", 1);
    setenv("RGPU_SIM_STREAM_COST", "540K", 1);
    setenv("RGPU_SIM_CONTEXT_COST", "8M", 1);
    setenv("RGPU_SIM_LIMIT", "73M", 1); // budget, context and a stream of the worker
    peer_start(&peer, &(struct peer_options){.budget = 64 * MIB});
    peer_retain(&peer, 0);
    uint64_t one = take(&peer, 1, CUDA_SUCCESS);
    is_int(left(&peer), 62 * MIB, "one byte takes a page");
    give(&peer, one);
    is_int(left(&peer), 64 * MIB, "and gives it back");

    for (int i = 0; i < SMALL; i++)
        small[i] = take(&peer, 512, CUDA_SUCCESS);
    int64_t most = left(&peer);
    ok(most >= 60 * MIB && most <= 62 * MIB, "a thousand small ones share a page, or two");
    for (int i = 0; i < SMALL - 1; i++)
        give(&peer, small[i]);
    is_int(left(&peer), 62 * MIB, "which the last of them keeps");
    give(&peer, small[SMALL - 1]);
    is_int(left(&peer), 64 * MIB, "and gives back");

    uint64_t odd = take(&peer, 3 * MIB, CUDA_SUCCESS);
    is_int(left(&peer), 60 * MIB, "three MiB take two pages");
    uint64_t rest = take(&peer, 59 * MIB, CUDA_SUCCESS);
    is_int(left(&peer), 0, "59 take thirty");
    take(&peer, 2 * MIB, CUDA_ERROR_OUT_OF_MEMORY);
    is_int(left(&peer), 0, "two more are not there");
    give(&peer, odd);
    is_int(left(&peer), 4 * MIB, "what is freed is");
    for (int i = 0; i < 100; i++)
        give(&peer, take(&peer, 4 * MIB, CUDA_SUCCESS));
    take(&peer, 4 * MIB + 1, CUDA_ERROR_OUT_OF_MEMORY);
    is_int(left(&peer), 4 * MIB, "and nothing is lost on the way, whatever was refused");
    give(&peer, rest);
    freed_in_streams(&peer);
    code_of_modules(&peer);
    streams(&peer);
    streams_with_work(&peer);
    bodies_of_conditional_nodes(&peer);
    nodes_of_graphs(&peer);
    is_int(ASK(&peer, cuDevicePrimaryCtxReset_v2, .dev = 0), CUDA_SUCCESS, "the context is reset");
    peer_retain(&peer, 0);
    is_int(left(&peer), 64 * MIB, "with nothing left");
    peer_stop(&peer);
    return done();
}
