// SPDX-License-Identifier: BSD-3-Clause
// Objects attached to graphs: user objects, attributes of kernels, memory operations on words, and
// the DOT output of the whole graph.
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/programs/graph_calls.h"

static CUfunction add;
static CUdeviceptr data;
static unsigned one = 1;

static void count_end(void *ended)
{
    atomic_fetch_add((atomic_int *)ended, 1);
}

// The driver calls destructors on a thread of its own.
static void await(atomic_int *ended, int want)
{
    while (atomic_load(ended) != want)
        sched_yield();
}

static CUuserObject user_object(atomic_int *ended, unsigned references)
{
    CUuserObject object;
    CHECK(cuUserObjectCreate(&object, ended, count_end, references,
                             CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    return object;
}

static void user_objects(CUstream stream)
{
    static atomic_int plain, moved, in_child;
    CUuserObject object = user_object(&plain, 1), unmade;
    gives(cuUserObjectCreate(&unmade, NULL, count_end, 1, 0), CUDA_ERROR_INVALID_VALUE,
          "a user object's function is not waited for, and that has to be said");
    gives(cuUserObjectCreate(&unmade, NULL, count_end, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
          CUDA_ERROR_INVALID_VALUE, "it has a reference at first");
    CHECK(cuUserObjectRetain(object, 2));
    CHECK(cuUserObjectRelease(object, 2));
    is_int(atomic_load(&plain), 0, "it lives while there is a reference");
    CHECK(cuUserObjectRelease(object, 1));
    await(&plain, 1);
    pass("and ends with the last one");

    CUgraph graph = new_graph(), clone;
    object = user_object(&moved, 1);
    CHECK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    add_kernel(graph, NULL, 0, add, 1, &data, &one, &one);
    CUgraphExec exec = instantiate(graph);
    CHECK(cuGraphClone(&clone, graph));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphDestroy(clone));
    is_int(atomic_load(&moved), 0, "an executable graph holds on to what its graph had");
    run_graph(exec, stream);
    CHECK(cuGraphExecDestroy(exec));
    await(&moved, 1);
    pass("until it is gone itself");

    CUgraph child = new_graph();
    CUgraphNode node;
    graph = new_graph();
    object = user_object(&in_child, 1);
    CHECK(cuGraphRetainUserObject(child, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    add_kernel(child, NULL, 0, add, 1, &data, &one, &one);
    CHECK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    exec = instantiate(graph);
    CHECK(cuGraphDestroy(child));
    CHECK(cuGraphDestroy(graph));
    is_int(atomic_load(&in_child), 0, "and to what its children had");
    CHECK(cuGraphExecDestroy(exec));
    await(&in_child, 1);
    pass("as long");
}

static void attributes(void)
{
    CUgraph graph = new_graph();
    CUgraphNode a = add_kernel(graph, NULL, 0, add, 1, &data, &one, &one);
    CUgraphNode b = add_kernel(graph, NULL, 0, add, 1, &data, &one, &one), empty;
    CUkernelNodeAttrValue value = {.priority = 9};
    CHECK(cuGraphKernelNodeGetAttribute(a, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value));
    is_int(value.priority, 0, "a kernel node has a priority");
    value.priority = -3;
    CHECK(cuGraphKernelNodeSetAttribute(a, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value));
    CHECK(cuGraphKernelNodeCopyAttributes(b, a));
    value.priority = 0;
    CHECK(cuGraphKernelNodeGetAttribute(b, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value));
    is_int(value.priority, -3, "which can be set and copied");
    gives(cuGraphKernelNodeGetAttribute(a, (CUkernelNodeAttrID)77, &value),
          CUDA_ERROR_INVALID_VALUE, "an attribute that there is not");
    CHECK(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
    CHECK(cuGraphDestroy(graph));
}

static void words(const struct gpu *gpu, CUstream stream)
{
    CUstreamBatchMemOpParams operations[2];
    memset(operations, 0, sizeof(operations));
    operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[0].writeValue.address = data;
    operations[0].writeValue.value = 77;
    operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operations[1].waitValue.address = data;
    operations[1].waitValue.value = 77;
    operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.ctx = gpu->context,
                                            .count = 2,
                                            .paramArray = operations},
                                  got = {0};
    CUgraph graph = new_graph();
    CUgraphNode node;
    CHECK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
    CHECK(cuGraphBatchMemOpNodeGetParams(node, &got));
    ok(got.count == 2 && got.paramArray[0].writeValue.value == 77, "a node of operations on words");
    CUgraphExec exec = instantiate(graph);
    run_graph(exec, stream);
    is_int(word_at(data), 77, "writes and waits");
    operations[0].writeValue.value = operations[1].waitValue.value = 78;
    CHECK(cuGraphExecBatchMemOpNodeSetParams(exec, node, &params));
    run_graph(exec, stream);
    is_int(word_at(data), 78, "and can be changed");
    params.count = 1;
    gives(cuGraphExecBatchMemOpNodeSetParams(exec, node, &params), CUDA_ERROR_INVALID_VALUE,
          "but not be made shorter");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

static void pictures(const struct gpu *gpu)
{
    char path[64], text[8192];
    CUgraph graph = new_graph();
    CUgraphNode first = add_kernel(graph, NULL, 0, add, 1, &data, &one, &one);
    add_fill(gpu, graph, &first, 1, data, 1, 1);
    snprintf(path, sizeof(path), "/tmp/rgpu-graph-%d.dot", (int)getpid());
    CHECK(cuGraphDebugDotPrint(graph, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = 0;
    unlink(path);
    ok(strstr(text, "digraph") && strstr(text, "add") && strstr(text, "MEMSET") &&
           strstr(text, "->"),
       "a graph is drawn with its nodes and edges");
    gives(cuGraphDebugDotPrint(graph, "/nowhere/at/all", 0), CUDA_ERROR_OPERATING_SYSTEM,
          "where there is a place for it");
    CHECK(cuGraphDestroy(graph));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUstream stream;
    add = kernel(&gpu, "add");
    data = device_alloc(64);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    user_objects(stream);
    attributes();
    words(&gpu, stream);
    pictures(&gpu);
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(data));
    close_gpu(&gpu);
    return done();
}
