// SPDX-License-Identifier: BSD-3-Clause
// Graphs within graphs: children, and bodies of conditions that kernels set.
#include "tests/programs/graph_calls.h"

// count(handle, address, limit): adds one to the word and sets the condition while it is below the
// limit. As nvcc writes it: cudaGraphSetConditional is a function of the device's runtime.
static const char count_ptx[] = ".version 8.3\n"
                                ".target sm_75\n"
                                ".address_size 64\n"
                                ".extern .func cudaGraphSetConditional\n"
                                "(\n"
                                "    .param .b64 handle,\n"
                                "    .param .b32 value\n"
                                ");\n"
                                ".visible .entry count(\n"
                                "    .param .u64 count_handle,\n"
                                "    .param .u64 count_word,\n"
                                "    .param .u32 count_limit)\n"
                                "{\n"
                                "    .reg .pred %p<2>;\n"
                                "    .reg .b32 %r<5>;\n"
                                "    .reg .b64 %rd<4>;\n"
                                "    ld.param.u64 %rd1, [count_handle];\n"
                                "    ld.param.u64 %rd2, [count_word];\n"
                                "    ld.param.u32 %r1, [count_limit];\n"
                                "    cvta.to.global.u64 %rd3, %rd2;\n"
                                "    ld.global.u32 %r2, [%rd3];\n"
                                "    add.s32 %r3, %r2, 1;\n"
                                "    st.global.u32 [%rd3], %r3;\n"
                                "    setp.lt.u32 %p1, %r3, %r1;\n"
                                "    selp.u32 %r4, 1, 0, %p1;\n"
                                "    {\n"
                                "    .param .b64 param0;\n"
                                "    st.param.b64 [param0+0], %rd1;\n"
                                "    .param .b32 param1;\n"
                                "    st.param.b32 [param1+0], %r4;\n"
                                "    call.uni cudaGraphSetConditional, (param0, param1);\n"
                                "    }\n"
                                "    ret;\n"
                                "}\n"
                                // choose(handle, word): sets the condition to the word
                                ".visible .entry choose(\n"
                                "    .param .u64 choose_handle,\n"
                                "    .param .u64 choose_word)\n"
                                "{\n"
                                "    .reg .b32 %r<2>;\n"
                                "    .reg .b64 %rd<4>;\n"
                                "    ld.param.u64 %rd1, [choose_handle];\n"
                                "    ld.param.u64 %rd2, [choose_word];\n"
                                "    cvta.to.global.u64 %rd3, %rd2;\n"
                                "    ld.global.u32 %r1, [%rd3];\n"
                                "    {\n"
                                "    .param .b64 param0;\n"
                                "    st.param.b64 [param0+0], %rd1;\n"
                                "    .param .b32 param1;\n"
                                "    st.param.b32 [param1+0], %r1;\n"
                                "    call.uni cudaGraphSetConditional, (param0, param1);\n"
                                "    }\n"
                                "    ret;\n"
                                "}\n";

static CUfunction add, poke, count, choose;
static CUdeviceptr data;
static unsigned one = 1;

static void children(CUstream stream)
{
    unsigned ten = 10, hundred = 100;
    CUgraph child = new_graph(), graph = new_graph(), inner, other = new_graph();
    CUgraphNode a = add_kernel(child, NULL, 0, add, 1, &data, &one, &one), node, inside;
    add_kernel(child, &a, 1, add, 1, &data, &ten, &one);
    CHECK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    CUgraphNode behind = add_kernel(graph, &node, 1, add, 1, &data, &hundred, &one);
    (void)behind;
    CHECK(cuGraphChildGraphNodeGetGraph(node, &inner));
    ok(inner != child && node_count(inner) == 2, "a child is a clone");
    CHECK(cuGraphDestroy(child));
    gives(cuGraphDestroy(inner), CUDA_ERROR_INVALID_VALUE, "which goes with its node only");
    CUgraphExec exec = instantiate(graph);
    CHECK(cuMemsetD32(data, 0, 1));
    run_graph(exec, stream);
    is_int(word_at(data), 111, "and runs in its place");
    size_t room = 1;
    CHECK(cuGraphGetNodes(inner, &inside, &room));
    CUDA_KERNEL_NODE_PARAMS params = kernel_params(add, 1, (void *[]){&data, &ten, &one});
    CHECK(cuGraphExecKernelNodeSetParams(exec, inside, &params));
    run_graph(exec, stream);
    is_int(word_at(data), 111 + 120, "a child's node can be changed");
    a = add_kernel(other, NULL, 0, add, 1, &data, &hundred, &one);
    gives(cuGraphExecChildGraphNodeSetParams(exec, node, other),
          CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "a child of another shape does not fit");
    add_kernel(other, &a, 1, add, 1, &data, &hundred, &one);
    CHECK(cuGraphExecChildGraphNodeSetParams(exec, node, other));
    run_graph(exec, stream);
    is_int(word_at(data), 231 + 300, "one of the same shape does");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(other));
    CHECK(cuGraphDestroy(graph));
}

static CUgraphNodeParams condition(const struct gpu *gpu, CUgraphConditionalHandle handle,
                                   CUgraphConditionalNodeType type, unsigned size)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    params.conditional.ctx = gpu->context;
    return params;
}

static void loops(const struct gpu *gpu, CUstream stream)
{
    CUgraph graph = new_graph(), clone;
    CUgraphConditionalHandle handle;
    CUgraphNode node, again;
    CUgraphExec exec, second;
    unsigned limit = 10;
    CHECK(cuGraphConditionalHandleCreate(&handle, graph, gpu->context, 1,
                                         CU_GRAPH_COND_ASSIGN_DEFAULT));
    gives(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE,
          "a condition wants a node that acts upon it");
    CUgraphNodeParams params = condition(gpu, handle, CU_GRAPH_COND_TYPE_WHILE, 2);
    gives(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE,
          "a loop has one body");
    params = condition(gpu, handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    CHECK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    CUgraph body = params.conditional.phGraph_out[0];
    gives(cuGraphAddNode(&again, graph, NULL, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE,
          "and a condition one node");
    add_kernel(body, NULL, 0, count, 1, &handle, &data, &limit);
    gives(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED, "there are no clones of it");
    exec = instantiate(graph);
    gives(cuGraphInstantiate(&second, graph, 0), CUDA_ERROR_NOT_SUPPORTED,
          "and no second executable graph");
    CHECK(cuMemsetD32(data, 0, 1));
    run_graph(exec, stream);
    is_int(word_at(data), 10, "a loop runs until a kernel ends it");
    run_graph(exec, stream);
    is_int(word_at(data), 11, "and begins anew with each launch");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

// Returns the body that runs for the word's value, among `size` bodies that each store their
// number.
static uint32_t chosen(const struct gpu *gpu, CUstream stream, CUgraphConditionalNodeType type,
                       unsigned size, unsigned value)
{
    CUgraph graph = new_graph();
    CUgraphConditionalHandle handle;
    CUgraphNode node;
    CUdeviceptr word = data, result = data + 4;
    CHECK(cuGraphConditionalHandleCreate(&handle, graph, gpu->context, 0, 0));
    CUgraphNode setter = add_kernel(graph, NULL, 0, choose, 1, &handle, &word);
    CUgraphNodeParams params = condition(gpu, handle, type, size);
    CHECK(cuGraphAddNode(&node, graph, &setter, NULL, 1, &params));
    for (unsigned i = 0; i < size; i++) {
        unsigned number = i + 1;
        add_kernel(params.conditional.phGraph_out[i], NULL, 0, poke, 1, &result, &number);
    }
    CUgraphExec exec = instantiate(graph);
    CHECK(cuMemsetD32(word, value, 1));
    CHECK(cuMemsetD32(result, 0, 1));
    run_graph(exec, stream);
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    return word_at(result);
}

static void choices(const struct gpu *gpu, CUstream stream)
{
    is_int(chosen(gpu, stream, CU_GRAPH_COND_TYPE_IF, 1, 1), 1, "if: the body runs");
    is_int(chosen(gpu, stream, CU_GRAPH_COND_TYPE_IF, 1, 0), 0, "or not");
    is_int(chosen(gpu, stream, CU_GRAPH_COND_TYPE_IF, 2, 0), 2, "else: the second one does");
    is_int(chosen(gpu, stream, CU_GRAPH_COND_TYPE_SWITCH, 3, 1), 2, "switch: the one of the value");
    is_int(chosen(gpu, stream, CU_GRAPH_COND_TYPE_SWITCH, 3, 9), 0, "none for another value");
}

static void loops_nest(const struct gpu *gpu, CUstream stream)
{
    CUgraph graph = new_graph();
    CUgraphConditionalHandle outer, inner;
    CUgraphNode node, fill;
    CUdeviceptr rounds = data, inside = data + 4, total = data + 8;
    unsigned three = 3, four = 4;
    CHECK(cuGraphConditionalHandleCreate(&outer, graph, gpu->context, 1,
                                         CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams params = condition(gpu, outer, CU_GRAPH_COND_TYPE_WHILE, 1);
    CHECK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    CUgraph body = params.conditional.phGraph_out[0];
    fill = add_fill(gpu, body, NULL, 0, inside, 0, 1);
    CHECK(cuGraphConditionalHandleCreate(&inner, body, gpu->context, 1, 0));
    CUgraphNode begin = add_kernel(body, &fill, 1, count, 1, &inner, &inside, &four);
    params = condition(gpu, inner, CU_GRAPH_COND_TYPE_WHILE, 1);
    CHECK(cuGraphAddNode(&node, body, &begin, NULL, 1, &params));
    CUgraph inner_body = params.conditional.phGraph_out[0];
    CUgraphNode work = add_kernel(inner_body, NULL, 0, add, 1, &total, &one, &one);
    add_kernel(inner_body, &work, 1, count, 1, &inner, &inside, &four);
    add_kernel(body, &node, 1, count, 1, &outer, &rounds, &three);
    CUgraphExec exec = instantiate(graph);
    CHECK(cuMemsetD32(data, 0, 3));
    run_graph(exec, stream);
    is_int(word_at(rounds), 3, "an outer loop goes round");
    is_int(word_at(total), 9, "and in it an inner one");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUstream stream;
    CUmodule module;
    CHECK(cuModuleLoadData(&module, count_ptx));
    CHECK(cuModuleGetFunction(&count, module, "count"));
    CHECK(cuModuleGetFunction(&choose, module, "choose"));
    add = kernel(&gpu, "add");
    poke = kernel(&gpu, "poke");
    data = device_alloc(4096);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    children(stream);
    loops(&gpu, stream);
    choices(&gpu, stream);
    loops_nest(&gpu, stream);
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(data));
    CHECK(cuModuleUnload(module));
    close_gpu(&gpu);
    return done();
}
