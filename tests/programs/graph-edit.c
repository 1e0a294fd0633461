// SPDX-License-Identifier: BSD-3-Clause
// Graphs that are asked and changed: edges, clones, parameters of nodes, updates of executable
// graphs as a whole and node by node, nodes that are switched off.
#include "tests/programs/graph_calls.h"

static CUfunction add, poke;
static CUdeviceptr data;
static unsigned one = 1;

static void edges(void)
{
    CUgraph graph = new_graph(), other = new_graph();
    CUgraphNode a = add_kernel(graph, NULL, 0, add, 1, &data, &one, &one);
    CUgraphNode b = add_kernel(graph, NULL, 0, add, 1, &data, &one, &one);
    CUgraphNode c = add_kernel(graph, &a, 1, add, 1, &data, &one, &one), nodes[5], from[4], to[4];
    CUgraphNode stranger = add_kernel(other, NULL, 0, add, 1, &data, &one, &one);
    CUgraphEdgeData edge = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                            .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC},
                    got[4];
    size_t count = 5;
    memset(nodes, 0xff, sizeof(nodes));
    CHECK(cuGraphGetNodes(graph, nodes, &count));
    ok(count == 3 && nodes[0] == a && nodes[1] == b && nodes[2] == c && !nodes[3] && !nodes[4],
       "nodes are told in their order, and the rest is cleared");
    count = 2;
    CHECK(cuGraphGetNodes(graph, nodes, &count));
    is_int(count, 2, "or as many as there is room for");
    count = 5;
    CHECK(cuGraphGetRootNodes(graph, nodes, &count));
    is_int(count, 2, "two of them wait for nothing");
    CHECK(cuGraphAddDependencies(graph, &b, &c, NULL, 1));
    gives(cuGraphAddDependencies(graph, &b, &c, NULL, 1), CUDA_ERROR_INVALID_VALUE,
          "an edge is there once");
    gives(cuGraphAddDependencies(graph, &a, &a, NULL, 1), CUDA_ERROR_INVALID_VALUE,
          "no node waits for itself");
    gives(cuGraphAddDependencies(graph, &a, &stranger, NULL, 1), CUDA_ERROR_INVALID_VALUE,
          "or for one of another graph");
    count = 4;
    CHECK(cuGraphNodeGetDependencies(c, nodes, got, &count));
    is_int(count, 2, "a node tells what it waits for");
    count = 4;
    CHECK(cuGraphNodeGetDependentNodes(b, nodes, got, &count));
    ok(count == 1 && nodes[0] == c, "and what waits for it");
    CHECK(cuGraphRemoveDependencies(graph, &b, &c, NULL, 1));
    gives(cuGraphRemoveDependencies(graph, &b, &c, NULL, 1), CUDA_ERROR_INVALID_VALUE,
          "an edge is removed once");
    CHECK(cuGraphAddDependencies(graph, &a, &b, &edge, 1));
    count = 4;
    gives(cuGraphGetEdges(graph, from, to, NULL, &count), CUDA_ERROR_LOSSY_QUERY,
          "edge data do not get lost unnoticed");
    count = 4;
    CHECK(cuGraphGetEdges(graph, from, to, got, &count));
    ok(count == 2 && got[0].type + got[1].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
       "they are told where there is room");
    edge.type = 7;
    gives(cuGraphAddDependencies(graph, &b, &c, &edge, 1), CUDA_ERROR_INVALID_VALUE,
          "an edge has to be of a kind that there is");
    CHECK(cuGraphAddDependencies(graph, &c, &a, NULL, 1));
    CUgraphExec exec;
    gives(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE, "a circle cannot run");
    CHECK(cuGraphDestroy(other));
    CHECK(cuGraphDestroy(graph));
}

static void clones(CUstream stream)
{
    unsigned hundred = 100;
    CUgraph graph = new_graph(), clone;
    CUgraphNode a = add_kernel(graph, NULL, 0, add, 1, &data, &one, &one), in_clone;
    add_kernel(graph, &a, 1, add, 1, &data, &one, &one);
    CHECK(cuGraphClone(&clone, graph));
    ok(node_count(clone) == 2 && edge_count(clone) == 1, "a clone has the same nodes and edges");
    CHECK(cuGraphNodeFindInClone(&in_clone, a, clone));
    ok(in_clone != a, "under handles of its own");
    CUgraphNode found;
    gives(cuGraphNodeFindInClone(&found, a, graph), CUDA_ERROR_INVALID_VALUE,
          "which only a clone can tell");
    CUDA_KERNEL_NODE_PARAMS params = kernel_params(add, 1, (void *[]){&data, &hundred, &one});
    CHECK(cuGraphKernelNodeSetParams(a, &params));
    CHECK(cuGraphDestroyNode(a));
    is_int(node_count(graph), 1, "a node can be taken out");
    is_int(edge_count(graph), 0, "and its edges go with it");
    CUgraphExec exec = instantiate(clone);
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemsetD32(data, 0, 1));
    run_graph(exec, stream);
    is_int(word_at(data), 2, "the clone is as the graph was");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(clone));
}

static CUgraph two_adds(unsigned *first, unsigned *second)
{
    CUgraph graph = new_graph();
    CUgraphNode a = add_kernel(graph, NULL, 0, add, 1, &data, first, &one);
    add_kernel(graph, &a, 1, add, 1, &data, second, &one);
    return graph;
}

static void whole_updates(CUstream stream)
{
    unsigned ten = 10;
    CUgraphExecUpdateResultInfo info;
    CUgraph graph = two_adds(&one, &one), bigger = two_adds(&ten, &ten), other = new_graph(), fewer;
    CUgraphExec exec = instantiate(graph);
    CHECK(cuMemsetD32(data, 0, 1));
    CHECK(cuGraphLaunch(exec, stream));
    gives(cuGraphExecUpdate(exec, bigger, &info), CUDA_SUCCESS, "a graph of the same shape fits");
    is_int(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS, "which is told");
    run_graph(exec, stream);
    is_int(word_at(data), 22, "launches from then on are as the new graph");
    fewer = new_graph();
    add_kernel(fewer, NULL, 0, add, 1, &data, &one, &one);
    gives(cuGraphExecUpdate(exec, fewer, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
          "another shape does not");
    is_int(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, "for that reason");
    CUgraphNode a = add_kernel(other, NULL, 0, add, 1, &data, &one, &one), empty;
    CHECK(cuGraphAddEmptyNode(&empty, other, &a, 1));
    gives(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
          "nor does a node of another kind");
    is_int(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, "for that reason");
    ok(info.errorNode == empty, "and the node is named");
    run_graph(exec, stream);
    is_int(word_at(data), 42, "the executable graph stays as it was");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphDestroy(bigger));
    CHECK(cuGraphDestroy(other));
    CHECK(cuGraphDestroy(fewer));
}

static void set_flag(void *flag)
{
    *(int *)flag += 1;
}

// Changes of single nodes. A launch that is already queued does not change.
static void node_updates(const struct gpu *gpu, CUstream stream)
{
    unsigned five = 5, enabled = 7;
    uint32_t host[8] = {1, 2, 3, 4, 50, 60, 70, 80}, out[4] = {0};
    int first = 0, second = 0;
    CUgraph graph = new_graph(), stranger_graph = new_graph();
    CUgraphNode in = add_copy(gpu, graph, NULL, 0, copy_in(data, host, 16));
    CUgraphNode kernel_node = add_kernel(graph, &in, 1, add, 1, &data, &one, &one);
    CUgraphNode fill = add_fill(gpu, graph, &kernel_node, 1, data + 12, 9, 1);
    CUgraphNode back = add_copy(gpu, graph, &fill, 1, copy_out(out, data, 16)), called;
    CUDA_HOST_NODE_PARAMS host_params = {.fn = set_flag, .userData = &first};
    CHECK(cuGraphAddHostNode(&called, graph, &back, 1, &host_params));
    CUgraphNode stranger = add_kernel(stranger_graph, NULL, 0, add, 1, &data, &one, &one);
    CUgraphExec exec = instantiate(graph);
    run_graph(exec, stream);
    ok(out[0] == 2 && out[1] == 2 && out[3] == 9 && first == 1, "as it was made");

    CUDA_KERNEL_NODE_PARAMS params = kernel_params(add, 1, (void *[]){&data, &five, &one});
    CHECK(cuGraphExecKernelNodeSetParams(exec, kernel_node, &params));
    CUDA_MEMCPY3D copy = copy_in(data, host + 4, 16);
    CHECK(cuGraphExecMemcpyNodeSetParams(exec, in, &copy, gpu->context));
    CUDA_MEMSET_NODE_PARAMS filling = {
        .dst = data + 8, .value = 11, .elementSize = 4, .width = 1, .height = 1};
    CHECK(cuGraphExecMemsetNodeSetParams(exec, fill, &filling, gpu->context));
    host_params.userData = &second;
    CHECK(cuGraphExecHostNodeSetParams(exec, called, &host_params));
    run_graph(exec, stream);
    ok(out[0] == 55 && out[1] == 60 && out[2] == 11 && out[3] == 80 && first == 1 && second == 1,
       "kernel, copy, fill and host function with other parameters");

    CHECK(cuGraphNodeGetEnabled(exec, fill, &enabled));
    is_int(enabled, 1, "a node is on");
    CHECK(cuGraphNodeSetEnabled(exec, fill, 0));
    CHECK(cuGraphNodeGetEnabled(exec, fill, &enabled));
    run_graph(exec, stream);
    ok(enabled == 0 && out[2] == 70, "one that is switched off does nothing");
    CHECK(cuGraphNodeSetEnabled(exec, fill, 1));
    run_graph(exec, stream);
    is_int(out[2], 11, "until it is switched on again");
    gives(cuGraphNodeSetEnabled(exec, called, 0), CUDA_ERROR_INVALID_VALUE,
          "host functions cannot be switched off");
    gives(cuGraphExecKernelNodeSetParams(exec, stranger, &params), CUDA_ERROR_INVALID_VALUE,
          "a node of another graph is not in it");
    gives(cuGraphExecKernelNodeSetParams(exec, fill, &params), CUDA_ERROR_INVALID_VALUE,
          "a fill is no kernel");
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = data + 64;
    gives(cuGraphExecMemcpyNodeSetParams(exec, in, &copy, gpu->context), CUDA_ERROR_INVALID_VALUE,
          "a copy stays of its kind");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphDestroy(stranger_graph));
}

static void generic_form(CUstream stream)
{
    unsigned value = 71, later = 72;
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    CUgraph graph = new_graph();
    CUgraphNode node, empty;
    params.kernel.func = poke;
    params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ = 1;
    params.kernel.blockDimX = params.kernel.blockDimY = params.kernel.blockDimZ = 1;
    params.kernel.kernelParams = (void *[]){&data, &value};
    CHECK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    CUgraphNodeParams nothing = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    CHECK(cuGraphAddNode(&empty, graph, &node, NULL, 1, &nothing));
    CUgraphExec exec = instantiate(graph);
    run_graph(exec, stream);
    is_int(word_at(data), 71, "a node can be added in the general form");
    params.kernel.kernelParams = (void *[]){&data, &later};
    CHECK(cuGraphExecNodeSetParams(exec, node, &params));
    run_graph(exec, stream);
    is_int(word_at(data), 72, "and changed in it");
    gives(cuGraphNodeSetParams(empty, &params), CUDA_ERROR_INVALID_VALUE, "as what it is");
    params.reserved2 = 1;
    gives(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE,
          "what is reserved has to be zero");
    nothing.type = (CUgraphNodeType)77;
    gives(cuGraphAddNode(&node, graph, NULL, NULL, 0, &nothing), CUDA_ERROR_INVALID_VALUE,
          "a kind that there is not is refused");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

static void flags(CUstream stream)
{
    CUgraph graph = new_graph();
    CUgraphExec exec;
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD,
                                            .hUploadStream = stream};
    int flag = 0;
    cuuint64_t got = 9;
    CUDA_HOST_NODE_PARAMS host = {.fn = set_flag, .userData = &flag};
    CUgraphNode node;
    gives(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS,
          "a graph of nothing can be instantiated");
    run_graph(exec, stream);
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphAddHostNode(&node, graph, NULL, 0, &host));
    gives(cuGraphInstantiate(&exec, graph, 1024), CUDA_ERROR_INVALID_VALUE, "flags that are none");
    gives(cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_SUCCESS, "with an upload");
    is_int(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS, "which is told");
    CHECK(cuGraphExecDestroy(exec));
    params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    gives(cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_ERROR_INVALID_VALUE,
          "a GPU calls no function of the host");
    ok(params.result_out == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED &&
           params.hErrNode_out == node,
       "and it is said which node is to blame");
    CHECK(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    CHECK(cuGraphExecGetFlags(exec, &got));
    ok(got == CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH,
       "an executable graph tells its flags");
    CHECK(cuGraphUpload(exec, stream));
    run_graph(exec, stream);
    is_int(flag, 1, "and can be uploaded before it is launched");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUstream stream;
    add = kernel(&gpu, "add");
    poke = kernel(&gpu, "poke");
    data = device_alloc(4096);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    edges();
    clones(stream);
    whole_updates(stream);
    node_updates(&gpu, stream);
    generic_form(stream);
    flags(stream);
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(data));
    close_gpu(&gpu);
    return done();
}
