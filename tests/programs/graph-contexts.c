// SPDX-License-Identifier: BSD-3-Clause
// Graphs of two contexts of a device: launched in a stream of the other context, with work of both,
// updated with work of the other one, and used after their context was destroyed.
#include "tests/programs/graph_calls.h"

enum { N = 32 };

// A context with a module, a stream and words of its own.
struct side {
    struct gpu gpu;
    CUfunction add;
    CUstream stream;
    CUdeviceptr data;
};

static void enter(const struct side *side)
{
    CHECK(cuCtxSetCurrent(side->gpu.context));
}

static void equip(struct side *side)
{
    side->add = kernel(&side->gpu, "add");
    CHECK(cuStreamCreate(&side->stream, CU_STREAM_NON_BLOCKING));
    side->data = device_alloc(N * 4);
    CHECK(cuMemsetD32(side->data, 0, N));
    CHECK(cuCtxSynchronize());
}

static CUgraphNode add_to(CUgraph graph, const struct side *side, const CUgraphNode *after,
                          unsigned value)
{
    unsigned n = N;
    return add_kernel(graph, after, after ? 1 : 0, side->add, N, (void *)&side->data, &value, &n);
}

static unsigned value_of(const struct side *side)
{
    enter(side);
    return word_at(side->data);
}

static struct side second_context(const struct gpu *first)
{
    struct side side = {.gpu = {.device = first->device}};
    CHECK(cuCtxCreate_v2(&side.gpu.context, 0, first->device));
    CHECK(cuModuleLoadData(&side.gpu.module, kernels_ptx));
    equip(&side);
    return side;
}

// A launch in the other context is carried out or refused, and in neither case half.
static void launched_elsewhere(const struct side *one, const struct side *two)
{
    enter(one);
    CUgraph graph = new_graph();
    add_to(graph, one, NULL, 5);
    CUgraphExec exec = instantiate(graph);
    run_graph(exec, one->stream);
    is_int(value_of(one), 5, "a graph runs in the context that it was made in");
    enter(two);
    CUresult result = cuGraphLaunch(exec, two->stream);
    printf("# launched in the other context: %s\n", result_name(result));
    gives(cuStreamSynchronize(two->stream), CUDA_SUCCESS,
          "a stream of the other context has no fault");
    is_int(value_of(one), result == CUDA_SUCCESS ? 10 : 5,
           "what was launched there was done, and what was refused was not");
    enter(one);
    run_graph(exec, one->stream);
    is_int(value_of(one), result == CUDA_SUCCESS ? 15 : 10, "it goes on in its own");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

// Runs kernels of both contexts, one after the other.
static void of_both(const struct side *one, const struct side *two)
{
    unsigned before = value_of(one), beside = value_of(two);
    enter(one);
    CUgraph graph = new_graph();
    CUgraphNode first = add_to(graph, one, NULL, 1);
    add_to(graph, two, &first, 2);
    CUgraphExec exec = NULL;
    CUresult result = cuGraphInstantiate(&exec, graph, 0);
    printf("# instantiated with kernels of two contexts: %s\n", result_name(result));
    if (result == CUDA_SUCCESS) {
        run_graph(exec, one->stream);
        ok(value_of(one) == before + 1 && value_of(two) == beside + 2,
           "kernels of two contexts both run");
        enter(one);
        CHECK(cuGraphExecDestroy(exec));
    } else {
        ok(value_of(one) == before && value_of(two) == beside,
           "kernels of two contexts are refused whole");
    }
    enter(one);
    CHECK(cuGraphDestroy(graph));
}

static void updated(const struct side *one, const struct side *two)
{
    unsigned before = value_of(one), beside = value_of(two);
    enter(one);
    CUgraph graph = new_graph(), wide = new_graph(), foreign = new_graph();
    add_to(graph, one, NULL, 1);
    CUgraphNode first = add_to(wide, one, NULL, 1);
    add_to(wide, one, &first, 1);
    add_to(foreign, two, NULL, 3);
    CUgraphExec exec = instantiate(graph);
    CUgraphExecUpdateResultInfo info;
    gives(cuGraphExecUpdate(exec, wide, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
          "a graph with another number of nodes does not fit");
    CUresult result = cuGraphExecUpdate(exec, foreign, &info);
    printf("# brought up to date with a kernel of the other context: %s %d\n", result_name(result),
           (int)info.result);
    run_graph(exec, one->stream);
    bool taken = result == CUDA_SUCCESS;
    ok(value_of(one) == before + !taken && value_of(two) == beside + (taken ? 3 : 0),
       "it does what it did, or what it was told to");
    enter(one);
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphDestroy(wide));
    CHECK(cuGraphDestroy(foreign));
}

// The context goes, and its graph is destroyed in the other one. Launched there it takes a driver
// down.
static void left_behind(const struct side *one, struct side *two)
{
    enter(two);
    CUgraph graph = new_graph();
    add_to(graph, two, NULL, 1);
    CUgraphExec exec = instantiate(graph);
    run_graph(exec, two->stream);
    CHECK(cuCtxDestroy(two->gpu.context));
    enter(one);
    printf("# destroyed after its context: %s\n", result_name(cuGraphExecDestroy(exec)));
    printf("# and what it was made of: %s\n", result_name(cuGraphDestroy(graph)));
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "and the other context is as it was");
}

int main(void)
{
    struct side one = {.gpu = open_gpu(0)};
    equip(&one);
    struct side two = second_context(&one.gpu);
    launched_elsewhere(&one, &two);
    of_both(&one, &two);
    updated(&one, &two);
    left_behind(&one, &two);
    CHECK(cuMemFree(one.data));
    CHECK(cuStreamDestroy(one.stream));
    close_gpu(&one.gpu);
    return done();
}
