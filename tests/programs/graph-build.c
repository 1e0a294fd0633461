// SPDX-License-Identifier: BSD-3-Clause
// Graphs that are built node by node: kernels, copies, fills, host functions, empty nodes and
// events, instantiated and launched more than once.
#include "tests/programs/graph_calls.h"

#define N 1000u

// in -> add 1 -> out, with a second branch that fills and adds, joined by an empty node.
static void copies_and_kernels(const struct gpu *gpu, CUstream stream)
{
    CUfunction add = kernel(gpu, "add");
    CUdeviceptr data = device_alloc(N * 4), other = device_alloc(N * 4);
    uint32_t *in = must_alloc(N * 4), *out = must_alloc(N * 4), *filled = must_alloc(N * 4);
    unsigned one = 1, n = N, wrong = 0;
    CUgraph graph = new_graph();
    CUgraphNode first = add_copy(gpu, graph, NULL, 0, copy_in(data, in, N * 4));
    CUgraphNode added = add_kernel(graph, &first, 1, add, 64, &data, &one, &n);
    CUgraphNode fill = add_fill(gpu, graph, NULL, 0, other, 40, N);
    CUgraphNode filled_added = add_kernel(graph, &fill, 1, add, 64, &other, &one, &n);
    CUgraphNode ends[2] = {added, filled_added}, join;
    CHECK(cuGraphAddEmptyNode(&join, graph, ends, 2));
    add_copy(gpu, graph, &join, 1, copy_out(out, data, N * 4));
    add_copy(gpu, graph, &join, 1, copy_out(filled, other, N * 4));
    CUgraphExec exec = instantiate(graph);
    CHECK(cuGraphDestroy(graph));
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < N; i++)
            in[i] = i * 7 + round;
        run_graph(exec, stream);
        for (unsigned i = 0; i < N; i++)
            wrong += out[i] != i * 7 + round + 1 || filled[i] != 41;
    }
    is_int(wrong, 0, "each launch reads host memory anew, computes, and writes it back");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuMemFree(data));
    CHECK(cuMemFree(other));
    free(in);
    free(out);
    free(filled);
}

struct note {
    const uint32_t *seen;
    unsigned calls;
    uint32_t values[8];
};

static void take_note(void *opaque)
{
    struct note *note = opaque;
    if (note->calls < 8)
        note->values[note->calls] = *note->seen;
    note->calls++;
}

static void host_nodes(const struct gpu *gpu, CUstream stream)
{
    CUdeviceptr counter = device_alloc(4);
    CUfunction add = kernel(gpu, "add");
    unsigned two = 2, one = 1;
    void *pinned;
    CHECK(cuMemAllocHost(&pinned, 4));
    CHECK(cuMemsetD32(counter, 0, 1));
    struct note note = {.seen = pinned};
    CUDA_HOST_NODE_PARAMS host = {.fn = take_note, .userData = &note}, got = {0};
    CUgraph graph = new_graph();
    CUgraphNode kernel_node = add_kernel(graph, NULL, 0, add, 1, &counter, &two, &one);
    CUgraphNode copied = add_copy(gpu, graph, &kernel_node, 1, copy_out(pinned, counter, 4)), node;
    CHECK(cuGraphAddHostNode(&node, graph, &copied, 1, &host));
    CHECK(cuGraphHostNodeGetParams(node, &got));
    ok(got.fn == take_note && got.userData == &note, "a host node tells its function");
    CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 4; i++)
        CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(note.calls, 4, "a host function is called at each launch");
    ok(note.values[0] == 2 && note.values[1] == 4 && note.values[2] == 6 && note.values[3] == 8,
       "in its place among the others");
    host.fn = NULL;
    gives(cuGraphAddHostNode(&node, graph, NULL, 0, &host), CUDA_ERROR_INVALID_VALUE,
          "there is no host node without a function");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFree(counter));
    CHECK(cuMemFreeHost(pinned));
}

// One exec in two streams: the second launch waits for the first, as it does not overlap with
// itself.
static void launches_do_not_overlap(const struct gpu *gpu, CUstream stream)
{
    enum { LAUNCHES = 16 };
    CUdeviceptr data = device_alloc(4);
    CUfunction scramble = kernel(gpu, "scramble");
    CUstream other;
    unsigned rounds = 2000, one = 1;
    uint32_t expected = 1;
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemsetD32(data, 1, 1));
    CHECK(cuCtxSynchronize());
    CUgraph graph = new_graph();
    CUgraphNode first = add_kernel(graph, NULL, 0, scramble, 1, &data, &rounds, &one);
    add_kernel(graph, &first, 1, scramble, 1, &data, &rounds, &one);
    CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < LAUNCHES; i++)
        CHECK(cuGraphLaunch(exec, i & 1 ? other : stream));
    CHECK(cuCtxSynchronize());
    for (unsigned i = 0; i < 2 * LAUNCHES * rounds; i++)
        expected = expected * 1664525u + 1013904223u;
    ok(word_at(data) == expected, "launches of one executable graph come one after the other");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy(other));
    CHECK(cuMemFree(data));
}

static void events(const struct gpu *gpu, CUstream stream)
{
    CUdeviceptr data = device_alloc(8), second = data + 4;
    CUfunction poke = kernel(gpu, "poke");
    unsigned value = 11, two = 22;
    CUevent started, done, got = NULL;
    CHECK(cuEventCreate(&started, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&done, CU_EVENT_DEFAULT));
    CUgraph graph = new_graph();
    CUgraphNode wait, poked, record;
    CHECK(cuGraphAddEventWaitNode(&wait, graph, NULL, 0, started));
    poked = add_kernel(graph, &wait, 1, poke, 1, &data, &value);
    CHECK(cuGraphAddEventRecordNode(&record, graph, &poked, 1, done));
    CHECK(cuGraphEventRecordNodeGetEvent(record, &got));
    ok(got == done, "an event node tells its event");
    gives(cuGraphEventRecordNodeGetEvent(wait, &got), CUDA_ERROR_INVALID_VALUE,
          "a node of another kind has none");
    CUgraphExec exec = instantiate(graph);
    CUstream other;
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemsetD32(data, 0, 2));
    CHECK(cuCtxSynchronize());
    struct hold hold = hold_stream(gpu, other);
    CHECK(cuEventRecord(started, other));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamWaitEvent(other, done, 0));
    launch(poke, 1, 1, other, &second, &two);
    gives(cuStreamQuery(stream), CUDA_ERROR_NOT_READY, "the graph waits for the event");
    hold_release(&hold);
    CHECK(cuStreamSynchronize(other));
    is_int(word_at(data), 11, "what waits for the graph's event comes after the node before it");
    is_int(word_at(second), 22, "and goes on");
    CHECK(cuStreamSynchronize(stream));
    gives(cuEventQuery(done), CUDA_SUCCESS, "the event was reached");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy(other));
    CHECK(cuEventDestroy(started));
    CHECK(cuEventDestroy(done));
    CHECK(cuMemFree(data));
}

static void rectangles(const struct gpu *gpu, CUstream stream)
{
    CUdeviceptr data;
    size_t pitch;
    unsigned char got[6][16];
    CHECK(cuMemAllocPitch(&data, &pitch, 16, 6, 4));
    CHECK(cuMemsetD8(data, 0, pitch * 6));
    CUgraph graph = new_graph();
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS fill = {.dst = data + pitch + 4,
                                    .pitch = pitch,
                                    .value = 0x5a,
                                    .elementSize = 1,
                                    .width = 8,
                                    .height = 3};
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = data,
                          .srcPitch = pitch,
                          .srcHeight = 6,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = got,
                          .dstPitch = 16,
                          .dstHeight = 6,
                          .WidthInBytes = 16,
                          .Height = 6,
                          .Depth = 1};
    CHECK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, gpu->context));
    CHECK(cuGraphAddMemcpyNode(&node, graph, &node, 1, &copy, gpu->context));
    CUgraphExec exec = instantiate(graph);
    run_graph(exec, stream);
    unsigned wrong = 0;
    for (unsigned y = 0; y < 6; y++)
        for (unsigned x = 0; x < 16; x++)
            wrong += got[y][x] != (y >= 1 && y < 4 && x >= 4 && x < 12 ? 0x5a : 0);
    is_int(wrong, 0, "rectangles are filled and copied");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFree(data));
}

static void parameters(const struct gpu *gpu)
{
    CUfunction add = kernel(gpu, "add");
    CUdeviceptr data = device_alloc(64);
    unsigned five = 5, n = 16;
    CUgraph graph = new_graph();
    CUgraphNode node = add_kernel(graph, NULL, 0, add, 32, &data, &five, &n), bad;
    CUDA_KERNEL_NODE_PARAMS got = {0}, params;
    CHECK(cuGraphKernelNodeGetParams(node, &got));
    ok(got.func == add && got.gridDimX == 1 && got.blockDimX == 32,
       "a kernel node tells its launch");
    ok(got.kernelParams && *(CUdeviceptr *)got.kernelParams[0] == data &&
           *(unsigned *)got.kernelParams[1] == 5 && *(unsigned *)got.kernelParams[2] == 16,
       "and its parameters");
    params = got;
    params.gridDimX = 0;
    gives(cuGraphAddKernelNode(&bad, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE,
          "a grid of nothing is refused");
    gives(cuGraphAddKernelNode(&bad, graph, NULL, 1, &got), CUDA_ERROR_INVALID_VALUE,
          "so are dependencies that are not there");
    gives(cuGraphCreate(&graph, 7), CUDA_ERROR_INVALID_VALUE, "and flags of a graph");
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFree(data));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    copies_and_kernels(&gpu, stream);
    host_nodes(&gpu, stream);
    launches_do_not_overlap(&gpu, stream);
    events(&gpu, stream);
    rectangles(&gpu, stream);
    parameters(&gpu);
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return done();
}
