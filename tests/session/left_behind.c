// SPDX-License-Identifier: BSD-3-Clause
// Objects that outlive their context: graphs, executable graphs, functions of libraries, green
// contexts. A driver crashes if they are used; a box refuses their use, and allows their
// destruction.
#include "tests/programs/graph_calls.h"

CUresult cuCtxFromGreenCtx(CUcontext *, CUgreenCtx);
CUresult cuGreenCtxCreate(CUgreenCtx *, CUdevResourceDesc, CUdevice, unsigned);
CUresult cuGreenCtxDestroy(CUgreenCtx);
CUresult cuDeviceGetDevResource(CUdevice, CUdevResource *, CUdevResourceType);
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *, CUdevResource *, unsigned);

enum { N = 32, GRAPHS = 12 };

// A context with the objects that its graphs need, and the graphs that outlive it.
struct side {
    struct gpu gpu;
    CUfunction add;
    CUstream stream;
    CUevent event;
    CUdeviceptr data;
    CUgraph graphs[GRAPHS];
    const char *names[GRAPHS];
    unsigned count;
};

static void equip(struct side *side)
{
    side->add = kernel(&side->gpu, "add");
    CHECK(cuStreamCreate(&side->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&side->event, CU_EVENT_DEFAULT));
    side->data = device_alloc(N * 4);
    CHECK(cuMemsetD32(side->data, 0, N));
    CHECK(cuCtxSynchronize());
}

static CUgraph enter(struct side *side, const char *name, CUgraph graph)
{
    side->names[side->count] = name;
    side->graphs[side->count++] = graph;
    return graph;
}

static CUgraphNode kernel_in(struct side *side, CUgraph graph)
{
    unsigned n = N, value = 1;
    return add_kernel(graph, NULL, 0, side->add, N, (void *)&side->data, &value, &n);
}

static CUresult run(CUgraphExec exec, CUstream stream)
{
    CUresult launched = cuGraphLaunch(exec, stream), ended = cuStreamSynchronize(stream);
    return launched != CUDA_SUCCESS ? launched : ended;
}

// ---- graphs of one context ----

static void with_a_batch(struct side *side)
{
    CUgraph graph = enter(side, "batch", new_graph());
    CUstreamBatchMemOpParams write = {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                                     .address = side->data,
                                                     .value = 3}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.ctx = side->gpu.context,
                                            .count = 1,
                                            .paramArray = &write};
    CUgraphNode node;
    CHECK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
}

static void with_a_condition(struct side *side)
{
    CUgraph graph = enter(side, "condition", new_graph());
    CUgraphConditionalHandle handle;
    CUgraphNode node;
    CHECK(cuGraphConditionalHandleCreate(&handle, graph, side->gpu.context, 0,
                                         CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                .conditional = {.handle = handle,
                                                .type = CU_GRAPH_COND_TYPE_IF,
                                                .size = 1,
                                                .ctx = side->gpu.context}};
    CHECK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    kernel_in(side, params.conditional.phGraph_out[0]);
}

static void of_nodes(struct side *side)
{
    static const char word[64];
    CUgraph graph = enter(side, "kernel", new_graph());
    CUgraphNode node;
    kernel_in(side, graph);
    add_fill(&side->gpu, enter(side, "set", new_graph()), NULL, 0, side->data, 7, N);
    add_copy(&side->gpu, enter(side, "copy", new_graph()), NULL, 0,
             copy_in(side->data, word, sizeof(word)));
    CHECK(
        cuGraphAddEventRecordNode(&node, enter(side, "event", new_graph()), NULL, 0, side->event));
    with_a_batch(side);
    with_a_condition(side);
    CHECK(cuGraphAddChildGraphNode(&node, enter(side, "child", new_graph()), NULL, 0, graph));
    CUgraph clone;
    CHECK(cuGraphClone(&clone, graph));
    enter(side, "clone", clone);
}

static void launch_add(const struct side *side)
{
    unsigned n = N, value = 1;
    void *arguments[] = {(void *)&side->data, &value, &n};
    CHECK(cuLaunchKernel(side->add, 1, 1, 1, N, 1, 1, 0, side->stream, arguments, NULL));
}

static void captured(struct side *side)
{
    CUgraph graph;
    CHECK(cuStreamBeginCapture(side->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch_add(side);
    CHECK(cuStreamEndCapture(side->stream, &graph));
    enter(side, "capture", graph);
}

// Begun in the context that stays, joined by a stream of the one that goes.
static void captured_with(struct side *side, const struct side *stays)
{
    CUgraph graph;
    CHECK(cuCtxSetCurrent(stays->gpu.context));
    CHECK(cuStreamBeginCapture(stays->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(cuEventRecord(stays->event, stays->stream));
    CHECK(cuCtxSetCurrent(side->gpu.context));
    CHECK(cuStreamWaitEvent(side->stream, stays->event, 0));
    launch_add(side);
    CHECK(cuEventRecord(side->event, side->stream));
    CHECK(cuCtxSetCurrent(stays->gpu.context));
    CHECK(cuStreamWaitEvent(stays->stream, side->event, 0));
    CHECK(cuStreamEndCapture(stays->stream, &graph));
    CHECK(cuCtxSetCurrent(side->gpu.context));
    enter(side, "joined capture", graph);
}

// ---- afterwards ----

// Instantiates a graph of STAYS and updates it with a graph that needs the context to be destroyed.
static CUgraphExec brought_up_to_date(const struct side *side, struct side *stays)
{
    CUgraphExecUpdateResultInfo info;
    CUgraph graph = new_graph();
    kernel_in(stays, graph);
    CUgraphExec exec = instantiate(graph);
    CUresult result = cuGraphExecUpdate(exec, side->graphs[0], &info);
    diag("brought up to date with the other context's: %s", result_name(result));
    CHECK(cuGraphDestroy(graph));
    if (result == CUDA_SUCCESS)
        return exec;
    CHECK(cuGraphExecDestroy(exec));
    return NULL;
}

static void refused(const char *name, CUgraph graph, CUgraphExec exec, CUgraphExec other,
                    CUstream stream)
{
    CUgraph around = new_graph(), clone;
    CUgraphExecUpdateResultInfo info;
    CUgraphExec fresh;
    CUgraphNode node;
    diag("%s", name);
    gives(run(exec, stream), CUDA_ERROR_CONTEXT_IS_DESTROYED, "it is not launched");
    cuGraphUpload(exec, stream);
    gives(cuStreamSynchronize(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED, "nor uploaded");
    gives(cuGraphInstantiate(&fresh, graph, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED,
          "nor is its graph instantiated again");
    gives(cuGraphExecUpdate(other, graph, &info), CUDA_ERROR_CONTEXT_IS_DESTROYED,
          "nor another brought up to date with it");
    gives(cuGraphClone(&clone, graph), CUDA_ERROR_CONTEXT_IS_DESTROYED, "nor cloned");
    gives(cuGraphAddChildGraphNode(&node, around, NULL, 0, graph), CUDA_ERROR_CONTEXT_IS_DESTROYED,
          "nor put into another");
    gives(cuGraphExecDestroy(exec), CUDA_SUCCESS, "but it is ended");
    gives(cuGraphDestroy(graph), CUDA_SUCCESS, "and its graph is");
    CHECK(cuGraphDestroy(around));
}

static void destroyed(struct side *stays)
{
    struct side side = {.gpu = {.device = stays->gpu.device}};
    CUgraphExec execs[GRAPHS];
    CHECK(cuCtxCreate_v2(&side.gpu.context, 0, side.gpu.device));
    CHECK(cuModuleLoadData(&side.gpu.module, kernels_ptx));
    equip(&side);
    of_nodes(&side);
    captured(&side);
    captured_with(&side, stays);
    for (unsigned i = 0; i < side.count; i++)
        execs[i] = instantiate(side.graphs[i]);
    CUgraphExec updated = brought_up_to_date(&side, stays);
    CHECK(cuCtxDestroy(side.gpu.context));
    CHECK(cuCtxSetCurrent(stays->gpu.context));
    CUgraph own = new_graph();
    kernel_in(stays, own);
    CUgraphExec exec = instantiate(own);
    if (updated) {
        gives(run(updated, stays->stream), CUDA_ERROR_CONTEXT_IS_DESTROYED,
              "what was brought up to date with it is not launched");
        CHECK(cuGraphExecDestroy(updated));
    }
    for (unsigned i = 0; i < side.count; i++)
        refused(side.names[i], side.graphs[i], execs[i], exec, stays->stream);
    gives(run(exec, stays->stream), CUDA_SUCCESS, "what needs only contexts that are there runs");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(own));
}

// A context makes place for another one, mostly at the same address in the driver.
static void followed(struct side *stays)
{
    struct side gone = {.gpu = {.device = stays->gpu.device}};
    CUcontext next;
    CHECK(cuCtxCreate_v2(&gone.gpu.context, 0, gone.gpu.device));
    CHECK(cuModuleLoadData(&gone.gpu.module, kernels_ptx));
    equip(&gone);
    CUgraph graph = new_graph();
    kernel_in(&gone, graph);
    CUgraphExec exec = instantiate(graph);
    CHECK(cuCtxDestroy(gone.gpu.context));
    CHECK(cuCtxCreate_v2(&next, 0, gone.gpu.device));
    gives(run(exec, NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED,
          "a later context is not taken for the one that has gone");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuCtxDestroy(next));
    CHECK(cuCtxSetCurrent(stays->gpu.context));
}

// ---- a primary context that is reset ----

static CUgreenCtx green_of(CUdevice device)
{
    CUdevResource all;
    CUdevResourceDesc description;
    CUgreenCtx green;
    CHECK(cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM));
    CHECK(cuDevResourceGenerateDesc(&description, &all, 1));
    CHECK(cuGreenCtxCreate(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM));
    return green;
}

static void reset(struct side *side)
{
    CUlibrary library;
    CUkernel code;
    CUfunction function;
    CUmodule module;
    CUcontext green_context;
    int registers;
    CHECK(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&code, library, "add"));
    CHECK(cuKernelGetFunction(&function, code));
    CHECK(cuLibraryGetModule(&module, library));
    CUgraph graph = new_graph();
    kernel_in(side, graph);
    CUgraphExec exec = instantiate(graph);
    CUgreenCtx green = green_of(side->gpu.device);
    CHECK(cuCtxFromGreenCtx(&green_context, green));
    CHECK(cuDevicePrimaryCtxReset(side->gpu.device));
    CHECK(cuDevicePrimaryCtxRetain(&side->gpu.context, side->gpu.device));
    CHECK(cuCtxSetCurrent(side->gpu.context));
    CUgraphExec fresh;
    gives(run(exec, NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED, "after a reset it is not launched");
    gives(cuGraphInstantiate(&fresh, graph, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED,
          "nor its graph instantiated");
    ok(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function) != CUDA_SUCCESS,
       "a function that a library had there is refused");
    ok(cuModuleGetFunction(&function, module, "add") != CUDA_SUCCESS, "as is its module");
    CHECK(cuKernelGetFunction(&function, code));
    gives(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function), CUDA_SUCCESS,
          "and another is had of the library");
    gives(cuGreenCtxDestroy(green), CUDA_ERROR_CONTEXT_IS_DESTROYED,
          "a green context has gone with it");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuLibraryUnload(library));
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "and the context is as new");
}

int main(void)
{
    struct side stays = {.gpu = open_gpu(0)};
    equip(&stays);
    destroyed(&stays);
    followed(&stays);
    reset(&stays);
    return done();
}
