// SPDX-License-Identifier: BSD-3-Clause
// Functions for the graph-*.c programs: the calls on graphs, and short ways to create nodes.
#ifndef RGPU_TESTS_GRAPH_CALLS_H
#define RGPU_TESTS_GRAPH_CALLS_H

#include "tests/programs/driver.h"

#ifndef WITH_CUDA_H
#define cuGraphAddKernelNode cuGraphAddKernelNode_v2
#define cuGraphKernelNodeGetParams cuGraphKernelNodeGetParams_v2
#define cuGraphKernelNodeSetParams cuGraphKernelNodeSetParams_v2
#define cuGraphExecKernelNodeSetParams cuGraphExecKernelNodeSetParams_v2
#define cuGraphInstantiate cuGraphInstantiateWithFlags
#define cuGraphExecUpdate cuGraphExecUpdate_v2
#define cuGraphAddNode cuGraphAddNode_v2
#define cuGraphGetEdges cuGraphGetEdges_v2
#define cuGraphNodeGetDependencies cuGraphNodeGetDependencies_v2
#define cuGraphNodeGetDependentNodes cuGraphNodeGetDependentNodes_v2
#define cuGraphAddDependencies cuGraphAddDependencies_v2
#define cuGraphRemoveDependencies cuGraphRemoveDependencies_v2
#define cuStreamBeginCapture cuStreamBeginCapture_v2
#define cuStreamGetCaptureInfo cuStreamGetCaptureInfo_v3
#define cuStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_v2
#define cuStreamBatchMemOp cuStreamBatchMemOp_v2
#endif

static inline CUgraph new_graph(void)
{
    CUgraph graph;
    CHECK(cuGraphCreate(&graph, 0));
    return graph;
}

// A kernel with one block of `threads` threads; the arguments are pointers to the parameters.
#define add_kernel(graph, after, count, function, threads, ...) \
    add_kernel_node((graph), (after), (count), (function), (threads), (void *[]){__VA_ARGS__})
static inline CUDA_KERNEL_NODE_PARAMS kernel_params(CUfunction function, unsigned threads,
                                                    void **parameters)
{
    CUDA_KERNEL_NODE_PARAMS params = {.func = function,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = threads,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = parameters};
    return params;
}

static inline CUgraphNode add_kernel_node(CUgraph graph, const CUgraphNode *after, size_t count,
                                          CUfunction function, unsigned threads, void **parameters)
{
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS params = kernel_params(function, threads, parameters);
    CHECK(cuGraphAddKernelNode(&node, graph, after, count, &params));
    return node;
}

static inline CUDA_MEMCPY3D copy_in(CUdeviceptr to, const void *from, size_t size)
{
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = from,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = to,
                          .WidthInBytes = size,
                          .Height = 1,
                          .Depth = 1};
    return copy;
}

static inline CUDA_MEMCPY3D copy_out(void *to, CUdeviceptr from, size_t size)
{
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = from,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = to,
                          .WidthInBytes = size,
                          .Height = 1,
                          .Depth = 1};
    return copy;
}

static inline CUgraphNode add_copy(const struct gpu *gpu, CUgraph graph, const CUgraphNode *after,
                                   size_t count, CUDA_MEMCPY3D copy)
{
    CUgraphNode node;
    CHECK(cuGraphAddMemcpyNode(&node, graph, after, count, &copy, gpu->context));
    return node;
}

static inline CUgraphNode add_fill(const struct gpu *gpu, CUgraph graph, const CUgraphNode *after,
                                   size_t count, CUdeviceptr to, uint32_t value, size_t words)
{
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = to, .value = value, .elementSize = 4, .width = words, .height = 1};
    CHECK(cuGraphAddMemsetNode(&node, graph, after, count, &fill, gpu->context));
    return node;
}

static inline CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec;
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

static inline void run_graph(CUgraphExec exec, CUstream stream)
{
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
}

static inline size_t node_count(CUgraph graph)
{
    size_t count = 0;
    CHECK(cuGraphGetNodes(graph, NULL, &count));
    return count;
}

static inline size_t edge_count(CUgraph graph)
{
    size_t count = 0;
    CHECK(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
    return count;
}

#endif
