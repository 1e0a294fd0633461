// SPDX-License-Identifier: BSD-3-Clause
// A budget counts the pages in which the driver takes memory, and a page that several allocations share
// once.
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

// As many nodes that may run at once.
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

int main(void)
{
    static uint64_t small[SMALL];
    struct peer peer;

    setenv("RGPU_SIM_PAGE", "2M", 1);
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
    uint64_t stream = peer_mint(&peer, HANDLE_STREAM);
    POST(&peer, cuStreamCreate, .phStream = stream, .Flags = CU_STREAM_NON_BLOCKING);
    is_int(left(&peer), 64 * MIB - 544 * 1024, "a stream takes memory, too");
    POST(&peer, cuStreamDestroy_v2, .hStream = stream);
    is_int(left(&peer), 64 * MIB, "and gives it back");
    nodes_of_graphs(&peer);
    is_int(ASK(&peer, cuDevicePrimaryCtxReset_v2, .dev = 0), CUDA_SUCCESS, "the context is reset");
    peer_retain(&peer, 0);
    is_int(left(&peer), 64 * MIB, "with nothing left");
    peer_stop(&peer);
    return done();
}
