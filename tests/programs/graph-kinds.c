// SPDX-License-Identifier: BSD-3-Clause
// The rarer kinds of nodes, objects that graphs own, and updates of executable graphs.
#include <stdatomic.h>
#include <unistd.h>

#include "tests/programs/graph_calls.h"

static CUfunction add;
static CUstream stream;
static unsigned one = 1, two = 2;

static void child_graphs(void)
{
    CUdeviceptr data = device_alloc(4);
    CUgraph child = new_graph(), parent = new_graph(), inside, twice = new_graph();
    CUgraphNode node, nodes[2];
    CHECK(cuMemsetD32(data, 0, 1));
    add_kernel(child, NULL, 0, add, 1, &data, &one, &one);
    CHECK(cuGraphAddChildGraphNode(&node, parent, NULL, 0, child));
    CHECK(cuGraphChildGraphNodeGetGraph(node, &inside));
    size_t count = 2;
    CHECK(cuGraphGetNodes(inside, nodes, &count));
    ok(inside != child && count == 1, "a child graph is a copy, and its nodes can be looked at");
    CUgraphExec exec = instantiate(parent);
    run_graph(exec, stream);
    is_int(word_at(data), 1, "it runs");
    add_kernel(twice, NULL, 0, add, 1, &data, &two, &one);
    CHECK(cuGraphExecChildGraphNodeSetParams(exec, node, twice));
    run_graph(exec, stream);
    is_int(word_at(data), 3, "another of the same shape takes its place");
    CHECK(cuGraphDestroy(twice));
    CHECK(cuGraphDestroy(child));
    CHECK(cuGraphDestroy(parent));
    run_graph(exec, stream);
    is_int(word_at(data), 5, "whatever became of the graphs");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuMemFree(data));
}

static void memory_of_graphs(const struct gpu *gpu)
{
    enum { WORDS = 1000 };
    uint32_t *out = must_alloc(WORDS * 4);
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->device}},
        .bytesize = WORDS * 4};
    CUDA_MEM_ALLOC_NODE_PARAMS got = {0};
    CUgraph graph = new_graph();
    CUgraphNode made, freed;
    CHECK(cuGraphAddMemAllocNode(&made, graph, NULL, 0, &alloc));
    CHECK(cuGraphMemAllocNodeGetParams(made, &got));
    ok(alloc.dptr && got.dptr == alloc.dptr && got.bytesize == WORDS * 4,
       "a node that allocates tells the address at once");
    CUgraphNode filled = add_fill(gpu, graph, &made, 1, alloc.dptr, 77, WORDS);
    CUgraphNode copied = add_copy(gpu, graph, &filled, 1, copy_out(out, alloc.dptr, WORDS * 4));
    CUgraphExec exec = instantiate(graph);
    run_graph(exec, stream);
    ok(out[0] == 77 && out[WORDS - 1] == 77, "the graph uses its memory");
    is_int(word_at(alloc.dptr + 8), 77, "which stays when the graph is through");
    CHECK(cuMemFree(alloc.dptr));
    out[0] = 0;
    run_graph(exec, stream);
    ok(out[0] == 77 && word_at(alloc.dptr) == 77, "freed, it is there again at the next launch");
    CHECK(cuMemFreeAsync(alloc.dptr, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));

    graph = new_graph();
    CHECK(cuGraphAddMemAllocNode(&made, graph, NULL, 0, &alloc));
    filled = add_fill(gpu, graph, &made, 1, alloc.dptr, 77, WORDS);
    copied = add_copy(gpu, graph, &filled, 1, copy_out(out, alloc.dptr, WORDS * 4));
    CHECK(cuGraphAddMemFreeNode(&freed, graph, &copied, 1, alloc.dptr));
    exec = instantiate(graph);
    for (int i = 0; i < 3; i++)
        run_graph(exec, stream);
    ok(out[1] == 77, "a graph that frees what it allocates can be launched again and again");
    cuuint64_t reserved = 0;
    CHECK(
        cuDeviceGetGraphMemAttribute(gpu->device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &reserved));
    ok(reserved >= WORDS * 4, "the device tells what its graphs have taken");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuDeviceGraphMemTrim(gpu->device));

    CUdeviceptr captured;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuMemAllocAsync(&captured, WORDS * 4, stream));
    CHECK(cuMemsetD32Async(captured, 5, WORDS, stream));
    CHECK(cuMemcpyDtoHAsync(out, captured, WORDS * 4, stream));
    CHECK(cuMemFreeAsync(captured, stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    exec = instantiate(graph);
    for (int i = 0; i < 2; i++) {
        out[3] = 0;
        run_graph(exec, stream);
        is_int(out[3], 5, "memory that was captured is allocated at each launch");
    }
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    free(out);
}

static unsigned run_if(const struct gpu *gpu, CUdeviceptr data, unsigned value)
{
    CUgraph graph = new_graph();
    CUgraphConditionalHandle handle;
    CUgraphNode node;
    CHECK(cuGraphConditionalHandleCreate(&handle, graph, gpu->context, value,
                                         CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                .conditional = {.handle = handle,
                                                .type = CU_GRAPH_COND_TYPE_IF,
                                                .size = 1,
                                                .ctx = gpu->context}};
    CHECK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    add_kernel(params.conditional.phGraph_out[0], NULL, 0, add, 1, &data, &one, &one);
    CUgraphExec exec = instantiate(graph);
    CHECK(cuMemsetD32(data, 0, 1));
    CHECK(cuCtxSynchronize());
    run_graph(exec, stream);
    run_graph(exec, stream);
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    return word_at(data);
}

static void conditions_and_words(const struct gpu *gpu)
{
    CUdeviceptr data = device_alloc(8);
    is_int(run_if(gpu, data, 1), 2, "a body runs at each launch where its condition holds");
    is_int(run_if(gpu, data, 0), 0, "and never where it does not");
    CUstreamBatchMemOpParams write = {0};
    write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    write.writeValue.address = data + 4;
    write.writeValue.value = 4711;
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {.ctx = gpu->context, .count = 1, .paramArray = &write};
    CUDA_BATCH_MEM_OP_NODE_PARAMS got = {0};
    CUgraph graph = new_graph();
    CUgraphNode node;
    CHECK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &batch));
    CHECK(cuGraphBatchMemOpNodeGetParams(node, &got));
    ok(got.count == 1 && got.ctx == gpu->context &&
           got.paramArray[0].writeValue.address == data + 4,
       "a node of words tells what it writes");
    CUgraphExec exec = instantiate(graph);
    run_graph(exec, stream);
    is_int(word_at(data + 4), 4711, "and writes it");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFree(data));
}

static void tell_end(void *opaque)
{
    atomic_store((atomic_int *)opaque, 1);
}

static bool comes_true(atomic_int *ended)
{
    for (int i = 0; i < 6000 && !atomic_load(ended); i++)
        usleep(10000);
    return atomic_load(ended);
}

static void what_graphs_own(void)
{
    static atomic_int ended;
    CUuserObject object;
    CUgraph graph = new_graph(), clone;
    CUgraphNode node;
    CHECK(cuUserObjectCreate(&object, &ended, tell_end, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    CHECK(cuGraphRetainUserObject(graph, object, 1, 0));
    CHECK(cuUserObjectRelease(object, 1));
    CHECK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    CHECK(cuGraphClone(&clone, graph));
    CUgraphExec exec = instantiate(graph);
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphDestroy(clone));
    run_graph(exec, stream);
    ok(!atomic_load(&ended), "what a graph owns lives as long as what was instantiated of it");
    CHECK(cuGraphExecDestroy(exec));
    ok(comes_true(&ended), "and ends with it");
}

static void picture(void)
{
    char path[] = "/tmp/rgpu-graph-XXXXXX", text[256] = "";
    int fd = mkstemp(path);
    CUgraph graph = new_graph();
    CUgraphNode node;
    CHECK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    CHECK(cuGraphDebugDotPrint(graph, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
    ok(pread(fd, text, sizeof(text) - 1, 0) > 0 && strstr(text, "digraph"), "a graph draws itself");
    CHECK(cuGraphDestroy(graph));
    close(fd);
    unlink(path);
}

static void count_call(void *opaque)
{
    ++*(unsigned *)opaque;
}

static void changes(const struct gpu *gpu)
{
    CUdeviceptr data = device_alloc(16), copied = device_alloc(4);
    uint32_t in = 1, other_in = 50, out = 0, other_out = 0;
    unsigned calls = 0, other_calls = 0;
    CUDA_HOST_NODE_PARAMS host = {.fn = count_call, .userData = &calls};
    CUgraph graph = new_graph();
    CHECK(cuMemsetD32(data, 0, 4));
    CHECK(cuCtxSynchronize());
    CUgraphNode kernel_node = add_kernel(graph, NULL, 0, add, 1, &data, &one, &one), called;
    CUgraphNode fill = add_fill(gpu, graph, NULL, 0, data + 8, 3, 1);
    CUgraphNode first = add_copy(gpu, graph, NULL, 0, copy_in(copied, &in, 4));
    CUgraphNode second = add_copy(gpu, graph, &first, 1, copy_out(&out, copied, 4));
    CHECK(cuGraphAddHostNode(&called, graph, NULL, 0, &host));
    CUgraphExec exec = instantiate(graph);
    run_graph(exec, stream);
    ok(out == 1 && calls == 1 && word_at(data) == 1, "before any change");

    CUdeviceptr next = data + 4;
    CUDA_KERNEL_NODE_PARAMS kernel_new = kernel_params(add, 1, (void *[]){&next, &two, &one});
    CUDA_MEMSET_NODE_PARAMS fill_new = {
        .dst = data + 8, .value = 9, .elementSize = 4, .width = 1, .height = 1};
    CUDA_MEMCPY3D in_new = copy_in(copied, &other_in, 4), out_new = copy_out(&other_out, copied, 4);
    host.userData = &other_calls;
    CHECK(cuGraphExecKernelNodeSetParams(exec, kernel_node, &kernel_new));
    CHECK(cuGraphExecMemsetNodeSetParams(exec, fill, &fill_new, gpu->context));
    CHECK(cuGraphExecMemcpyNodeSetParams(exec, first, &in_new, gpu->context));
    CHECK(cuGraphExecMemcpyNodeSetParams(exec, second, &out_new, gpu->context));
    CHECK(cuGraphExecHostNodeSetParams(exec, called, &host));
    for (int i = 0; i < 2; i++)
        run_graph(exec, stream);
    ok(word_at(data) == 1 && word_at(data + 4) == 4 && word_at(data + 8) == 9,
       "kernels and fills are changed in what was instantiated");
    ok(out == 1 && other_out == 50, "copies read and write other memory");
    ok(calls == 1 && other_calls == 2, "another function is called");

    CUDA_KERNEL_NODE_PARAMS got;
    CHECK(cuGraphKernelNodeGetParams(kernel_node, &got));
    ok(got.gridDimX == 1 && *(CUdeviceptr *)got.kernelParams[0] == data &&
           *(unsigned *)got.kernelParams[1] == 1,
       "the graph's own nodes are as they were");
    CHECK(cuGraphNodeSetEnabled(exec, kernel_node, 0));
    unsigned enabled = 1;
    CHECK(cuGraphNodeGetEnabled(exec, kernel_node, &enabled));
    run_graph(exec, stream);
    ok(!enabled && word_at(data + 4) == 4, "a node that is switched off does nothing");
    CHECK(cuGraphNodeSetEnabled(exec, kernel_node, 1));

    CHECK(cuGraphKernelNodeSetParams(kernel_node, &kernel_new));
    CUgraphExecUpdateResultInfo info;
    CHECK(cuGraphExecUpdate(exec, graph, &info));
    run_graph(exec, stream);
    ok(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS && word_at(data + 4) == 6 && calls == 2 &&
           out == 1,
       "the whole is brought up to date");
    CUgraphNode more;
    CHECK(cuGraphAddEmptyNode(&more, graph, &kernel_node, 1));
    gives(cuGraphExecUpdate(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
          "not with another shape");
    is_int(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, "which is said");
    CHECK(cuGraphDestroy(graph));
    run_graph(exec, stream);
    is_int(calls, 3, "and what was instantiated goes on as it is");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuMemFree(data));
    CHECK(cuMemFree(copied));
}

static void attributes(void)
{
    CUdeviceptr data = device_alloc(4);
    CUgraph graph = new_graph();
    CUgraphNode from = add_kernel(graph, NULL, 0, add, 1, &data, &one, &one);
    CUgraphNode to = add_kernel(graph, NULL, 0, add, 1, &data, &one, &one);
    CUkernelNodeAttrValue value = {.cooperative = 1}, got = {0};
    CHECK(cuGraphKernelNodeSetAttribute(from, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
    CHECK(cuGraphKernelNodeCopyAttributes(to, from));
    CHECK(cuGraphKernelNodeGetAttribute(to, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &got));
    is_int(got.cooperative, 1, "attributes of kernel nodes are set, copied and got");
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFree(data));
}

static void within_the_program(const struct gpu *gpu)
{
    uint32_t from = 5, to = 0;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = &from,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = &to,
                          .WidthInBytes = 4,
                          .Height = 1,
                          .Depth = 1};
    CUgraph graph = new_graph();
    CUgraphNodeType type;
    CUgraphNode node = add_copy(gpu, graph, NULL, 0, copy);
    CHECK(cuGraphNodeGetType(node, &type));
    CUgraphExec exec = instantiate(graph);
    run_graph(exec, stream);
    from = 6;
    ok(to == 5 && type == CU_GRAPH_NODE_TYPE_MEMCPY, "a copy within the program's memory is one");
    run_graph(exec, stream);
    is_int(to, 6, "at each launch");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    add = kernel(&gpu, "add");
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    child_graphs();
    memory_of_graphs(&gpu);
    conditions_and_words(&gpu);
    what_graphs_own();
    picture();
    changes(&gpu);
    attributes();
    within_the_program(&gpu);
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return done();
}
