// SPDX-License-Identifier: BSD-3-Clause
// Stream capture: what calls become nodes, streams that fork and join by events, and everything
// that makes a capture invalid.
#include <pthread.h>

#include "tests/programs/graph_calls.h"

static CUfunction add, poke;
static CUstream stream, side;
static CUdeviceptr data;
static unsigned one = 1;

static void begin(CUstream in)
{
    CHECK(cuStreamBeginCapture(in, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static CUgraph end(CUstream in)
{
    CUgraph graph;
    CHECK(cuStreamEndCapture(in, &graph));
    return graph;
}

static CUstreamCaptureStatus status_of(CUstream of)
{
    CUstreamCaptureStatus status;
    CHECK(cuStreamIsCapturing(of, &status));
    return status;
}

static void count_call(void *calls)
{
    ++*(int *)calls;
}

static void calls_become_nodes(void)
{
    uint32_t in[4] = {1, 2, 3, 4}, out[4] = {0};
    unsigned n = 4;
    int calls = 0;
    is_int(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE, "a stream is not captured at first");
    begin(stream);
    is_int(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE, "then it is");
    CHECK(cuMemsetD32Async(data, 0, 16, stream));
    CHECK(cuMemcpyHtoDAsync(data, in, 16, stream));
    launch(add, 1, 32, stream, &data, &one, &n);
    CHECK(cuMemcpyDtoDAsync(data + 32, data, 16, stream));
    CHECK(cuMemcpyDtoHAsync(out, data + 32, 16, stream));
    CHECK(cuLaunchHostFunc(stream, count_call, &calls));
    CUgraph graph = end(stream);
    is_int(calls, 0, "nothing runs during a capture");
    is_int(node_count(graph), 6, "each call has become a node");
    is_int(edge_count(graph), 5, "one behind the other");
    CUgraphExec exec = instantiate(graph);
    run_graph(exec, stream);
    ok(out[0] == 2 && out[3] == 5 && calls == 1, "a launch does it all");
    in[0] = 100;
    run_graph(exec, stream);
    ok(out[0] == 101 && out[3] == 5 && calls == 2, "and again, with what host memory holds then");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

static void streams_fork_and_join(void)
{
    CUevent fork, join;
    CUdeviceptr other = data + 64;
    CHECK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    CHECK(cuMemsetD32(data, 0, 32));
    begin(stream);
    launch(add, 1, 1, stream, &data, &one, &one);
    CHECK(cuEventRecord(fork, stream));
    CHECK(cuStreamWaitEvent(side, fork, 0));
    is_int(status_of(side), CU_STREAM_CAPTURE_STATUS_ACTIVE, "a stream that waits is drawn in");
    launch(add, 1, 1, side, &other, &one, &one);
    launch(add, 1, 1, stream, &data, &one, &one);
    CHECK(cuEventRecord(join, side));
    CHECK(cuStreamWaitEvent(stream, join, 0));
    launch(add, 1, 1, stream, &other, &one, &one);
    CUgraph graph = end(stream);
    is_int(status_of(side), CU_STREAM_CAPTURE_STATUS_NONE, "and let go at the end");
    is_int(node_count(graph), 4, "four kernels");
    is_int(edge_count(graph), 4, "in the shape of a diamond");
    CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 3; i++)
        CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    ok(word_at(data) == 6 && word_at(other) == 6, "which runs");
    gives(cuEventQuery(join), CUDA_ERROR_INVALID_VALUE, "an event of a capture is none outside");
    CHECK(cuEventRecord(join, stream));
    CHECK(cuEventSynchronize(join));
    gives(cuEventQuery(join), CUDA_SUCCESS, "until it is recorded there");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuEventDestroy(fork));
    CHECK(cuEventDestroy(join));
}

static void ends_with(CUstream in, CUresult want, const char *what)
{
    CUgraph graph = NULL;
    gives(cuStreamEndCapture(in, &graph), want, "%s", what);
    ok(!graph, "%s: there is no graph", what);
    is_int(status_of(in), CU_STREAM_CAPTURE_STATUS_NONE, "%s: it is over", what);
}

static void what_makes_it_invalid(void)
{
    CUevent event, outside;
    CUgraph graph;
    CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&outside, CU_EVENT_DEFAULT));
    gives(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE,
          "there is no capture to end");

    begin(stream);
    gives(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
          "a captured stream cannot be waited for");
    is_int(status_of(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED, "which spoils the capture");
    ends_with(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "spoilt");

    begin(stream);
    CHECK(cuEventRecord(event, stream));
    gives(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT, "an event of a capture has no state");
    ends_with(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an event was asked");

    begin(stream);
    gives(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
          "the context cannot be waited for either");
    ends_with(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the context was waited for");

    begin(stream);
    CHECK(cuEventRecord(event, stream));
    CHECK(cuStreamWaitEvent(side, event, 0));
    launch(poke, 1, 1, side, &data, &one);
    ends_with(stream, CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "work left behind in another stream");

    begin(stream);
    CHECK(cuEventRecord(event, stream));
    CHECK(cuStreamWaitEvent(side, event, 0));
    gives(cuStreamEndCapture(side, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
          "a capture ends where it began");
    (void)cuStreamEndCapture(stream, &graph);

    CHECK(cuEventRecord(outside, side));
    begin(stream);
    gives(cuStreamWaitEvent(stream, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
          "a capture cannot wait for what is outside");
    ends_with(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "not isolated");

    begin(stream);
    begin(side);
    CHECK(cuEventRecord(event, stream));
    gives(cuStreamWaitEvent(side, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE,
          "two captures do not become one");
    (void)cuStreamEndCapture(stream, &graph);
    (void)cuStreamEndCapture(side, &graph);

    CUstream blocking;
    CHECK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    begin(blocking);
    gives(cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&data, &one}, NULL),
          CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream would wait for a captured one");
    ends_with(blocking, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "drawn in by the legacy stream");
    gives(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED),
          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream itself is not captured");
    CHECK(cuStreamDestroy(blocking));
    CHECK(cuEventDestroy(event));
    CHECK(cuEventDestroy(outside));
}

struct job {
    CUcontext context;
    bool ends;
    CUresult end, allocation;
};

static void *from_another_thread(void *opaque)
{
    struct job *job = opaque;
    CUgraph graph;
    CUdeviceptr memory;
    CHECK(cuCtxSetCurrent(job->context));
    if (job->ends)
        job->end = cuStreamEndCapture(stream, &graph);
    job->allocation = cuMemAlloc(&memory, 64);
    if (!job->allocation)
        CHECK(cuMemFree(memory));
    return NULL;
}

static struct job in_another_thread(const struct gpu *gpu, bool ends)
{
    struct job job = {.context = gpu->context, .ends = ends};
    pthread_t thread;
    pthread_create(&thread, NULL, from_another_thread, &job);
    pthread_join(thread, NULL);
    return job;
}

static void modes(const struct gpu *gpu)
{
    CUdeviceptr memory;
    CUgraph graph;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gives(cuMemAlloc(&memory, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
          "global: unsafe calls of this thread are refused");
    ends_with(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an unsafe call");

    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    struct job job = in_another_thread(gpu, false);
    is_int(job.allocation, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           "global: unsafe calls of other threads are refused");
    ends_with(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an unsafe call elsewhere");

    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    job = in_another_thread(gpu, true);
    is_int(job.end, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "another thread cannot end it");
    is_int(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE, "but it is over");

    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    job = in_another_thread(gpu, false);
    is_int(job.allocation, CUDA_SUCCESS, "thread-local: other threads do what they like");
    CHECK(cuThreadExchangeStreamCaptureMode(&mode));
    is_int(mode, CU_STREAM_CAPTURE_MODE_GLOBAL, "a thread's mode is global at first");
    gives(cuMemAlloc(&memory, 64), CUDA_SUCCESS, "a relaxed thread as well");
    CHECK(cuThreadExchangeStreamCaptureMode(&mode));
    gives(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS, "the capture is none the worse");
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFree(memory));
}

static void what_a_capture_tells(void)
{
    CUstreamCaptureStatus status;
    cuuint64_t id, next_id;
    CUgraph graph, ended;
    const CUgraphNode *nodes;
    const CUgraphEdgeData *edges;
    size_t count;
    CUgraphNode extra, last;
    begin(stream);
    launch(add, 1, 1, stream, &data, &one, &one);
    CHECK(cuStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &edges, &count));
    ok(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1, "the next node comes behind one");
    last = nodes[0];
    CHECK(cuGraphAddEmptyNode(&extra, graph, &last, 1));
    CHECK(cuStreamUpdateCaptureDependencies(stream, &extra, NULL, 1,
                                            CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    launch(add, 1, 1, stream, &data, &one, &one);
    CHECK(cuStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &edges, &count));
    CUgraphNode before[4];
    CUgraphEdgeData before_edges[4];
    size_t before_count = 4;
    CHECK(cuGraphNodeGetDependencies(nodes[0], before, before_edges, &before_count));
    ok(before_count == 1 && before[0] == extra, "a program's own node can be put between");
    ended = end(stream);
    ok(ended == graph, "the graph was there all the time");
    CHECK(cuGraphDestroy(ended));
    begin(stream);
    CHECK(cuStreamGetCaptureInfo(stream, &status, &next_id, NULL, NULL, NULL, NULL));
    ok(next_id != id, "each capture has an id of its own");
    CHECK(cuGraphDestroy(end(stream)));

    graph = new_graph();
    last = add_kernel(graph, NULL, 0, add, 1, &data, &one, &one);
    CHECK(
        cuStreamBeginCaptureToGraph(stream, graph, &last, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch(add, 1, 1, stream, &data, &one, &one);
    CHECK(cuStreamEndCapture(stream, &ended));
    ok(ended == graph && node_count(graph) == 2 && edge_count(graph) == 1,
       "a capture can go on with a graph that is there");
    CHECK(
        cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch(add, 1, 1, stream, &data, &one, &one);
    gives(cuStreamEndCapture(stream, NULL), CUDA_SUCCESS,
          "whose owner need not take it at the end");
    is_int(node_count(graph), 3, "and finds it as it became");
    CHECK(cuGraphDestroy(graph));
}

// External events are nodes, which each launch records; a graph is not launched into a capture.
static void external_events(void)
{
    CUgraph graph = new_graph();
    CUevent event;
    CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    add_kernel(graph, NULL, 0, add, 1, &data, &one, &one);
    CUgraphExec exec = instantiate(graph);
    begin(stream);
    gives(cuGraphLaunch(exec, stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
          "a graph is not launched into a capture");
    ends_with(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "a launch of a graph");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    begin(stream);
    launch(add, 1, 1, stream, &data, &one, &one);
    CHECK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    graph = end(stream);
    is_int(node_count(graph), 2, "an external event is a node");
    exec = instantiate(graph);
    run_graph(exec, stream);
    gives(cuEventQuery(event), CUDA_SUCCESS, "which a launch records");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuEventDestroy(event));
}

// A reset of the primary context ends the captures of its streams: the legacy stream, which waits
// for all streams that it knows, works afterwards.
static void resets_end_captures(CUdevice device)
{
    CUcontext primary;
    CHECK(cuDevicePrimaryCtxRetain(&primary, device));
    CHECK(cuCtxPushCurrent(primary));
    CUstream captured;
    CHECK(cuStreamCreate(&captured, CU_STREAM_DEFAULT));
    begin(captured);
    begin(CU_STREAM_PER_THREAD);
    CHECK(cuDevicePrimaryCtxReset(device));
    CHECK(cuDevicePrimaryCtxRetain(&primary, device));
    CUdeviceptr address = device_alloc(16);
    gives(cuMemsetD8Async(address, 0, 16, NULL), CUDA_SUCCESS,
          "after a reset nothing is captured any more");
    CHECK(cuStreamCreate(&captured, CU_STREAM_DEFAULT));
    begin(captured);
    CHECK(cuGraphDestroy(end(captured)));
    CHECK(cuCtxPopCurrent(NULL));
    CHECK(cuDevicePrimaryCtxRelease(device));
    // A reset may count as a release.
    cuDevicePrimaryCtxRelease(device);
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    add = kernel(&gpu, "add");
    poke = kernel(&gpu, "poke");
    data = device_alloc(4096);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    calls_become_nodes();
    streams_fork_and_join();
    what_makes_it_invalid();
    modes(&gpu);
    what_a_capture_tells();
    external_events();
    CHECK(cuMemFree(data));
    CHECK(cuStreamDestroy(side));
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    resets_end_captures(gpu.device);
    return done();
}
