// SPDX-License-Identifier: BSD-3-Clause
// Memory that graphs allocate and free: by nodes, by captured calls, freed by the program or by
// another graph, and the device's statistics of it.
#include "tests/programs/graph_calls.h"

#define SIZE ((size_t)1 << 20)

static CUfunction add;
static CUdevice device;
static unsigned one = 1;

static CUgraphNode add_alloc(CUgraph graph, CUdeviceptr *address)
{
    CUgraphNode node;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                       .location = {CU_MEM_LOCATION_TYPE_DEVICE,
                                                                    device}},
                                         .bytesize = SIZE};
    CHECK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    *address = params.dptr;
    return node;
}

static cuuint64_t attribute(CUgraphMem_attribute which)
{
    cuuint64_t value = 0;
    CHECK(cuDeviceGetGraphMemAttribute(device, which, &value));
    return value;
}

// A graph that allocates, and adds one to the first word, which it copies to `out` afterwards.
static CUgraph allocating(const struct gpu *gpu, CUdeviceptr *address, uint32_t *out,
                          CUgraphNode *last)
{
    CUgraph graph = new_graph();
    CUgraphNode alloc = add_alloc(graph, address), added, zero = NULL;
    unsigned five = 5;
    CUfunction poke = kernel(gpu, "poke");
    zero = add_kernel(graph, &alloc, 1, poke, 1, address, &five);
    added = add_kernel(graph, &zero, 1, add, 1, address, &one, &one);
    *last = add_copy(gpu, graph, &added, 1, copy_out(out, *address, 4));
    return graph;
}

static void freed_in_the_graph(const struct gpu *gpu, CUstream stream)
{
    CUdeviceptr address, freed = 0;
    uint32_t out = 0;
    CUgraphNode last, node;
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    CUgraph graph = allocating(gpu, &address, &out, &last), clone;
    CHECK(cuGraphAddMemFreeNode(&node, graph, &last, 1, address));
    CHECK(cuGraphMemFreeNodeGetParams(node, &freed));
    ok(address && freed == address, "an allocation has its address from the beginning");
    size_t count = 8;
    CUgraphNode nodes[8];
    CHECK(cuGraphGetNodes(graph, nodes, &count));
    CHECK(cuGraphMemAllocNodeGetParams(nodes[0], &params));
    ok(params.dptr == address && params.bytesize == SIZE, "and its node tells it");
    gives(cuGraphAddMemFreeNode(&node, graph, &last, 1, address), CUDA_ERROR_INVALID_VALUE,
          "a graph frees it once");
    gives(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED,
          "a graph with memory has no clones");
    CUgraphExec exec = instantiate(graph), second;
    gives(cuGraphInstantiate(&second, graph, 0), CUDA_ERROR_NOT_SUPPORTED,
          "and one executable graph");
    for (int i = 0; i < 3; i++)
        CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(out, 6, "it computes in its memory, launch after launch");
    ok(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) >= SIZE,
       "which the device keeps for graphs");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuDeviceGraphMemTrim(device));
    is_int(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0, "until it is trimmed");
    ok(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) >= SIZE, "it remembers the most");
}

static void freed_by_the_program(const struct gpu *gpu, CUstream stream)
{
    CUdeviceptr address;
    uint32_t out = 0;
    CUgraphNode last;
    CUgraph graph = allocating(gpu, &address, &out, &last);
    CUgraphExec exec = instantiate(graph);
    gives(cuMemFree(address), CUDA_ERROR_INVALID_VALUE, "nothing is allocated before a launch");
    CHECK(cuGraphLaunch(exec, stream));
    launch(add, 1, 1, stream, &address, &one, &one);
    CHECK(cuStreamSynchronize(stream));
    is_int(word_at(address), 7, "what a graph leaves allocated, the program uses");
    gives(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE, "it is not allocated twice");
    gives(cuMemFree(address), CUDA_SUCCESS, "and frees");
    CHECK(cuGraphLaunch(exec, stream));
    gives(cuMemFreeAsync(address, stream), CUDA_SUCCESS, "at once or in a stream");
    gives(cuMemFree(address), CUDA_ERROR_INVALID_VALUE, "but once");
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    CHECK(cuGraphLaunch(exec, stream));
    gives(cuGraphLaunch(exec, stream), CUDA_SUCCESS, "one that frees by itself goes on");
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemFree(address));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

static void freed_by_another_graph(const struct gpu *gpu, CUstream stream)
{
    CUdeviceptr address;
    uint32_t out = 0;
    CUgraphNode last, node;
    CUgraph graph = allocating(gpu, &address, &out, &last), freeing = new_graph();
    CHECK(cuGraphAddMemFreeNode(&node, freeing, NULL, 0, address));
    CUgraphExec exec = instantiate(graph), free_exec = instantiate(freeing);
    for (int i = 0; i < 3; i++) {
        CHECK(cuGraphLaunch(exec, stream));
        CHECK(cuGraphLaunch(free_exec, stream));
    }
    CHECK(cuStreamSynchronize(stream));
    is_int(out, 6, "one graph allocates and another one frees");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphExecDestroy(free_exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphDestroy(freeing));
}

static void captured(CUstream stream)
{
    CUdeviceptr address;
    uint32_t out = 0;
    CUgraph graph;
    CUgraphNode nodes[8];
    CUgraphNodeType first, last;
    size_t count = 8;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuMemAllocAsync(&address, SIZE, stream));
    CHECK(cuMemsetD32Async(address, 30, 1, stream));
    launch(add, 1, 1, stream, &address, &one, &one);
    CHECK(cuMemcpyDtoHAsync(&out, address, 4, stream));
    CHECK(cuMemFreeAsync(address, stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphGetNodes(graph, nodes, &count));
    CHECK(cuGraphNodeGetType(nodes[0], &first));
    CHECK(cuGraphNodeGetType(nodes[count - 1], &last));
    ok(count == 5 && first == CU_GRAPH_NODE_TYPE_MEM_ALLOC && last == CU_GRAPH_NODE_TYPE_MEM_FREE,
       "captured allocations are nodes");
    CUgraphExec exec = instantiate(graph);
    run_graph(exec, stream);
    out = 0;
    run_graph(exec, stream);
    is_int(out, 31, "which do the same");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

static void bad_requests(void)
{
    CUgraph graph = new_graph();
    CUgraphNode node;
    CUdeviceptr plain = device_alloc(64);
    cuuint64_t five = 5;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}}};
    gives(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE,
          "nothing is not allocated");
    params.bytesize = (size_t)1 << 50;
    gives(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), CUDA_ERROR_OUT_OF_MEMORY,
          "nor more than there can be");
    gives(cuGraphAddMemFreeNode(&node, graph, NULL, 0, plain), CUDA_ERROR_INVALID_VALUE,
          "only memory of a graph is freed by a node");
    gives(cuDeviceSetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &five),
          CUDA_ERROR_INVALID_VALUE, "high-water marks are set back, not set");
    gives(cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)9, &five),
          CUDA_ERROR_INVALID_VALUE, "there are four figures");
    CHECK(cuMemFree(plain));
    CHECK(cuGraphDestroy(graph));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUstream stream;
    device = gpu.device;
    if (!device_attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
        skip_all("the device says that it has no memory pools");
    add = kernel(&gpu, "add");
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    freed_in_the_graph(&gpu, stream);
    freed_by_the_program(&gpu, stream);
    freed_by_another_graph(&gpu, stream);
    captured(stream);
    bad_requests();
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return done();
}
