// SPDX-License-Identifier: BSD-3-Clause
// Graphs that are launched repeatedly use the program's current memory and host functions: copies
// of any shape, also between two host functions; many nodes; graphs that are created and destroyed.
#include "tests/programs/graph_calls.h"

#define BYTES (1300u * 1024) // several blocks' worth, and no multiple of one

struct relay {
    uint8_t *from, *to;
    size_t size;
    unsigned calls;
};

static void relay(void *opaque)
{
    struct relay *relay = opaque;
    for (size_t i = 0; i < relay->size; i++)
        relay->to[i] = relay->from[i] + 1;
    relay->calls++;
}

// in -> GPU -> middle, the program adds one, middle -> GPU -> out: all within one launch.
static void through_the_program_and_back(const struct gpu *gpu, CUstream stream)
{
    uint8_t *in = must_alloc(BYTES), *out = must_alloc(BYTES), *middle, *changed;
    CHECK(cuMemAllocHost((void **)&middle, BYTES));
    CHECK(cuMemAllocHost((void **)&changed, BYTES));
    CUdeviceptr data = device_alloc(BYTES);
    struct relay relays = {.from = middle, .to = changed, .size = BYTES};
    CUDA_HOST_NODE_PARAMS host = {.fn = relay, .userData = &relays};
    CUgraph graph = new_graph();
    CUgraphNode first = add_copy(gpu, graph, NULL, 0, copy_in(data, in, BYTES));
    CUgraphNode second = add_copy(gpu, graph, &first, 1, copy_out(middle, data, BYTES)), called;
    CHECK(cuGraphAddHostNode(&called, graph, &second, 1, &host));
    CUgraphNode third = add_copy(gpu, graph, &called, 1, copy_in(data, changed, BYTES));
    add_copy(gpu, graph, &third, 1, copy_out(out, data, BYTES));
    CUgraphExec exec = instantiate(graph);
    CHECK(cuGraphDestroy(graph));
    unsigned wrong = 0;
    for (unsigned round = 0; round < 4; round++) {
        fill_random(in, BYTES, 100 + round);
        run_graph(exec, stream);
        for (size_t i = 0; i < BYTES; i++)
            wrong += out[i] != (uint8_t)(in[i] + 1);
    }
    is_int(relays.calls, 4, "a function between two copies is called at each launch");
    is_int(wrong, 0,
           "it sees what the copy before it brought, and the copy behind it what it wrote");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuMemFree(data));
    CHECK(cuMemFreeHost(middle));
    CHECK(cuMemFreeHost(changed));
    free(in);
    free(out);
}

// A box of rows out of a larger array, and back into another place.
static void rows(const struct gpu *gpu, CUstream stream)
{
    // Packed, they are more than one block.
    enum { PITCH = 3000, ROWS = 300, PLANES = 3, WIDTH = 2101, HEIGHT = 270, DEPTH = 2 };
    static uint8_t in[PLANES][ROWS][PITCH], out[PLANES][ROWS][PITCH];
    CUdeviceptr data = device_alloc(WIDTH * HEIGHT * DEPTH);
    CUDA_MEMCPY3D there = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = in,
                           .srcPitch = PITCH,
                           .srcHeight = ROWS,
                           .srcXInBytes = 5,
                           .srcY = 4,
                           .srcZ = 1,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = data,
                           .dstPitch = WIDTH,
                           .dstHeight = HEIGHT,
                           .WidthInBytes = WIDTH,
                           .Height = HEIGHT,
                           .Depth = DEPTH};
    CUDA_MEMCPY3D back = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = data,
                          .srcPitch = WIDTH,
                          .srcHeight = HEIGHT,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .dstPitch = PITCH,
                          .dstHeight = ROWS,
                          .dstXInBytes = 50,
                          .dstY = 1,
                          .dstZ = 0,
                          .WidthInBytes = WIDTH,
                          .Height = HEIGHT,
                          .Depth = DEPTH};
    CUDA_MEMCPY3D got = {0};
    CUgraph graph = new_graph();
    CUgraphNode first, second;
    CUgraphNodeType type;
    CHECK(cuGraphAddMemcpyNode(&first, graph, NULL, 0, &there, gpu->context));
    CHECK(cuGraphAddMemcpyNode(&second, graph, &first, 1, &back, gpu->context));
    CHECK(cuGraphNodeGetType(first, &type));
    CHECK(cuGraphMemcpyNodeGetParams(first, &got));
    ok(type == CU_GRAPH_NODE_TYPE_MEMCPY && got.srcHost == (const void *)in && got.srcY == 4,
       "a copy of rows is a copy, and tells what it was given");
    CUgraphExec exec = instantiate(graph);
    unsigned wrong = 0;
    for (unsigned round = 0; round < 2; round++) {
        fill_random(in, sizeof(in), 7 + round);
        memset(out, 0xee, sizeof(out));
        run_graph(exec, stream);
        for (unsigned z = 0; z < PLANES; z++)
            for (unsigned y = 0; y < ROWS; y++)
                for (unsigned x = 0; x < PITCH; x++) {
                    bool inside = z < DEPTH && y >= 1 && y < 1 + HEIGHT && x >= 50 &&
                                  x < 50 + WIDTH;
                    uint8_t want = inside ? in[z + 1][y - 1 + 4][x - 50 + 5] : 0xee;
                    wrong += out[z][y][x] != want;
                }
    }
    is_int(wrong, 0, "rows come from their places and go to theirs, and nowhere else");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFree(data));
}

static void count_call(void *opaque)
{
    ++*(unsigned *)opaque;
}

// Captures that come and go, each with a copy of the program's memory and a function.
static void many_captures(CUstream stream)
{
    enum { ROUNDS = 200 };
    CUdeviceptr data = device_alloc(4096);
    uint32_t value, seen = 0;
    unsigned calls = 0, wrong = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        CUgraph graph;
        CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        CHECK(cuMemcpyHtoDAsync(data, &value, 4, stream));
        CHECK(cuLaunchHostFunc(stream, count_call, &calls));
        CHECK(cuMemcpyDtoHAsync(&seen, data, 4, stream));
        CHECK(cuStreamEndCapture(stream, &graph));
        CUgraphExec exec = instantiate(graph);
        CHECK(cuGraphDestroy(graph));
        for (unsigned launch = 0; launch < 2; launch++) {
            value = round * 10 + launch;
            run_graph(exec, stream);
            wrong += seen != value;
        }
        CHECK(cuGraphExecDestroy(exec));
    }
    is_int(wrong, 0, "%d captures, one after the other, copy at each launch", ROUNDS);
    is_int(calls, 2 * ROUNDS, "and call at each launch");
    CHECK(cuMemFree(data));
}

static void many_nodes(CUstream stream)
{
    enum { NODES = 9000 };
    CUgraph graph = new_graph();
    static CUgraphNode nodes[NODES], got[NODES], from[NODES], to[NODES];
    size_t count = NODES, edges = NODES, wrong = 0;
    for (unsigned i = 0; i < NODES; i++)
        CHECK(cuGraphAddEmptyNode(&nodes[i], graph, i ? &nodes[i - 1] : NULL, i ? 1 : 0));
    CHECK(cuGraphGetNodes(graph, got, &count));
    CHECK(cuGraphGetEdges(graph, from, to, NULL, &edges));
    for (unsigned i = 0; i < NODES; i++) {
        bool found = false;
        for (unsigned j = 0; j < NODES && !found; j++)
            found = got[(i + j) % NODES] == nodes[i];
        wrong += !found;
    }
    ok(count == NODES && edges == NODES - 1 && !wrong, "%d nodes and their edges are listed",
       NODES);
    CUgraph clone;
    CUgraphNode twin;
    CHECK(cuGraphClone(&clone, graph));
    CHECK(cuGraphNodeFindInClone(&twin, nodes[NODES / 2], clone));
    CHECK(cuGraphGetNodes(clone, got, &count));
    wrong = 1;
    for (unsigned i = 0; i < NODES; i++)
        wrong &= got[i] != twin;
    ok(!wrong && twin != nodes[NODES / 2], "a clone has nodes of its own, one for each");
    CHECK(cuGraphDestroy(clone));
    CHECK(cuGraphDestroy(graph));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    through_the_program_and_back(&gpu, stream);
    rows(&gpu, stream);
    many_captures(stream);
    many_nodes(stream);
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return done();
}
