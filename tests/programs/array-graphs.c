// SPDX-License-Identifier: BSD-3-Clause
// Graphs that copy from and to arrays: nodes that are added, captured, asked and changed. Host
// memory is read and written at each launch, ordinary and page-locked.
#include "tests/programs/array_calls.h"
#include "tests/programs/graph_calls.h"

enum { WIDTH = 300, HEIGHT = 70, DEPTH = 5, ROW = 4 * WIDTH, BYTES = ROW * HEIGHT * DEPTH };

static struct gpu gpu;
static CUstream stream;

static CUarray volume(unsigned flags)
{
    return make_array(WIDTH, HEIGHT, DEPTH, CU_AD_FORMAT_FLOAT, 1, flags);
}

static CUDA_MEMCPY3D into(CUarray array, const void *host)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = host,
                           .srcPitch = ROW,
                           .srcHeight = HEIGHT,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = array,
                           .WidthInBytes = ROW,
                           .Height = HEIGHT,
                           .Depth = DEPTH};
}

static CUDA_MEMCPY3D out_of(CUarray array, void *host)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = array,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = host,
                           .dstPitch = ROW,
                           .dstHeight = HEIGHT,
                           .WidthInBytes = ROW,
                           .Height = HEIGHT,
                           .Depth = DEPTH};
}

static CUDA_MEMCPY3D between(CUarray to, CUarray from)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = from,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = to,
                           .WidthInBytes = ROW,
                           .Height = HEIGHT,
                           .Depth = DEPTH};
}

static void run_twice(CUgraphExec exec, unsigned char *source, unsigned char *target,
                      const char *kind)
{
    for (int i = 0; i < 2; i++) {
        fill_random(source, BYTES, 17 + i);
        memset(target, 0, BYTES);
        CHECK(cuGraphLaunch(exec, stream));
        CHECK(cuStreamSynchronize(stream));
        ok(!memcmp(source, target, BYTES), "%s: launch %d copies what is there then", kind, i);
    }
}

static void check_nodes(unsigned char *source, unsigned char *target, const char *kind)
{
    CUarray first = volume(0), second = volume(CUDA_ARRAY3D_SURFACE_LDST);
    CUDA_MEMCPY3D in = into(first, source), through = between(second, first),
                  out = out_of(second, target), said;
    CUgraph graph;
    CUgraphNode nodes[3];
    CUgraphExec exec;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemcpyNode(&nodes[0], graph, NULL, 0, &in, gpu.context));
    CHECK(cuGraphAddMemcpyNode(&nodes[1], graph, &nodes[0], 1, &through, gpu.context));
    CHECK(cuGraphAddMemcpyNode(&nodes[2], graph, &nodes[1], 1, &out, gpu.context));
    CHECK(cuGraphMemcpyNodeGetParams(nodes[1], &said));
    ok(said.srcMemoryType == CU_MEMORYTYPE_ARRAY && said.srcArray == first &&
           said.dstMemoryType == CU_MEMORYTYPE_ARRAY && said.dstArray == second,
       "%s: a node says which arrays it copies", kind);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    run_twice(exec, source, target, kind);
    in.Depth++;
    CUgraphNode node;
    gives(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &in, gpu.context), CUDA_ERROR_INVALID_VALUE,
          "%s: a node that leaves its array is refused", kind);
    in.Depth--;
    in.dstArray = NULL;
    gives(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &in, gpu.context), CUDA_ERROR_INVALID_VALUE,
          "%s: and one of no array", kind);
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuArrayDestroy(first));
    CHECK(cuArrayDestroy(second));
}

static void check_capture(unsigned char *source, unsigned char *target, const char *kind)
{
    CUarray first = volume(CUDA_ARRAY3D_LAYERED), line = make_array(BYTES / 64, 0, 0, 1, 4, 0);
    CUDA_MEMCPY3D in = into(first, source), out = out_of(first, target);
    CUgraph graph;
    CUgraphExec exec;
    size_t count = 0;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(cuMemcpy3DAsync(&in, stream));
    CHECK(cuMemcpy3DAsync(&out, stream));
    CHECK(cuMemcpyHtoAAsync(line, 4, source, 100, stream));
    CHECK(cuMemcpyAtoHAsync(target, line, 4, 100, stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphGetNodes(graph, NULL, &count));
    is_int(count, 4, "%s: copies of arrays are captured", kind);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    run_twice(exec, source, target, kind);
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuArrayDestroy(first));
    CHECK(cuArrayDestroy(line));
}

static void check_unsafe(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {16, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    CUarray array;
    CUgraph graph;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gives(cuArray3DCreate(&array, &d), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
          "an array is not made while a stream is captured");
    gives(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
          "which ends the capture");
}

int main(void)
{
    gpu = open_gpu(0);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    unsigned char *source = must_alloc(BYTES), *target = must_alloc(BYTES);
    void *locked_source, *locked_target;
    CHECK(cuMemAllocHost(&locked_source, BYTES));
    CHECK(cuMemAllocHost(&locked_target, BYTES));
    check_nodes(source, target, "ordinary memory");
    check_nodes(locked_source, locked_target, "page-locked memory");
    check_capture(source, target, "captured, ordinary memory");
    check_capture(locked_source, locked_target, "captured, page-locked memory");
    check_unsafe();
    CHECK(cuMemFreeHost(locked_source));
    CHECK(cuMemFreeHost(locked_target));
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    free(source);
    free(target);
    return done();
}
