// SPDX-License-Identifier: BSD-3-Clause
// Makes calls on graphs, virtual memory, pools and events in any order, valid and invalid ones, and
// prints each result and sometimes the contents of memory. It waits after each call, so that late
// errors are reported for the call that caused them.
//
// usage: any-order SEED STEPS
#include "tests/programs/graph_calls.h"

enum {
    BUFFERS = 4,
    BYTES = 4096,
    GRAPHS = 4,
    NODES = 24,
    EXECS = 4,
    EVENTS = 3,
    RANGES = 2,
    PIECE = 2 << 20
};

static struct gpu gpu;
static CUfunction add_function;
static CUstream streams[2];
static CUdeviceptr buffers[BUFFERS], allocated[4], ranges[RANGES];
static CUgraph graphs[GRAPHS];
static CUgraphNode nodes[NODES];
static CUgraphExec execs[EXECS];
static CUevent events[EVENTS];
static CUmemGenericAllocationHandle pieces[RANGES];
static unsigned char host[BYTES];
static CUgraphNode last[GRAPHS];
static unsigned nodes_graph[NODES], called;
static uint64_t state;

static unsigned pick(unsigned below)
{
    return random_u32(&state) % below;
}

#define ANY(list) (&(list)[pick(sizeof(list) / sizeof((list)[0]))])

static void CUDA_CB count(void *unused)
{
    called++;
}

// ---- nodes ----

static CUDA_MEMSET_NODE_PARAMS some_set(void)
{
    CUDA_MEMSET_NODE_PARAMS set = {.dst = *ANY(buffers) + 4 * pick(64),
                                   .value = pick(256),
                                   .elementSize = pick(8) ? 4 : pick(6),
                                   .width = pick(16) ? 1 + pick(256) : pick(4000),
                                   .height = pick(20) ? 1 : 1 + pick(2)};
    printf("(set %u by %zu, %zu) ", set.elementSize, set.width, set.height);
    return set;
}

static CUresult add_work(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n)
{
    unsigned value = pick(100), words = 1 + pick(256);
    CUdeviceptr data = *ANY(buffers);
    CUDA_KERNEL_NODE_PARAMS params =
        kernel_params(add_function, 256, (void *[]){(void *)&data, &value, &words});
    if (!pick(20))
        params.gridDimX = 0;
    return cuGraphAddKernelNode(node, graph, after, n, &params);
}

static CUresult add_any(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n)
{
    CUDA_MEMSET_NODE_PARAMS set;
    CUDA_MEMCPY3D copy;
    CUDA_HOST_NODE_PARAMS function = {.fn = count};
    CUstreamBatchMemOpParams write = {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                                     .address = *ANY(buffers) + 8,
                                                     .value = pick(50)}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {.ctx = gpu.context,
                                           .count = pick(10) ? 1 : 0,
                                           .paramArray = &write};
    unsigned kind = pick(9);
    printf("(kind %u, %zu) ", kind, n);
    switch (kind) {
    case 0: return add_work(node, graph, after, n);
    case 1: set = some_set(); return cuGraphAddMemsetNode(node, graph, after, n, &set, gpu.context);
    case 2:
        copy = copy_in(*ANY(buffers), host, 1 + pick(pick(10) ? BYTES : 2 * BYTES));
        if (copy.WidthInBytes > BYTES)
            copy.WidthInBytes = BYTES;
        return cuGraphAddMemcpyNode(node, graph, after, n, &copy, gpu.context);
    case 3: return cuGraphAddEmptyNode(node, graph, after, n);
    case 4: return cuGraphAddHostNode(node, graph, after, n, &function);
    case 5: return cuGraphAddChildGraphNode(node, graph, after, n, *ANY(graphs));
    case 6: return cuGraphAddEventRecordNode(node, graph, after, n, *ANY(events));
    case 7: return cuGraphAddEventWaitNode(node, graph, after, n, *ANY(events));
    default: return cuGraphAddBatchMemOpNode(node, graph, after, n, &batch);
    }
}

// Adds a node after the last one of its graph, because unordered nodes may give different results;
// for that reason nodes stay.
static CUresult add_node(void)
{
    unsigned in = pick(GRAPHS), slot = pick(NODES);
    CUgraphNode after[2] = {last[in], *ANY(nodes)}, node = NULL;
    CUresult result = add_any(&node, graphs[in], after, last[in] ? 1 + !pick(4) : 0);
    if (result != CUDA_SUCCESS)
        return result;
    nodes[slot] = last[in] = node;
    nodes_graph[slot] = in;
    return result;
}

// ---- graphs ----

static CUresult make_graph(void)
{
    CUgraph *slot = ANY(graphs);
    return *slot ? CUDA_SUCCESS : cuGraphCreate(slot, pick(10) ? 0 : 1);
}

static CUresult clone_graph(void)
{
    unsigned to = pick(GRAPHS), from = pick(GRAPHS);
    if (graphs[to])
        return CUDA_SUCCESS;
    CUresult result = cuGraphClone(&graphs[to], graphs[from]);
    if (result == CUDA_SUCCESS && last[from])
        result = cuGraphNodeFindInClone(&last[to], last[from], graphs[to]);
    return result;
}

static CUresult make_exec(void)
{
    CUgraphExec *slot = ANY(execs);
    return *slot ? CUDA_SUCCESS : cuGraphInstantiate(slot, *ANY(graphs), 0);
}

static CUresult update(void)
{
    CUgraphExecUpdateResultInfo info = {0};
    return cuGraphExecUpdate(*ANY(execs), *ANY(graphs), &info);
}

static CUresult look(void)
{
    CUgraphNodeType type = (CUgraphNodeType)0;
    size_t n = 0, edges = 0;
    CUgraph graph = *ANY(graphs);
    CUresult result = cuGraphGetNodes(graph, NULL, &n);
    if (result == CUDA_SUCCESS)
        result = cuGraphGetEdges(graph, NULL, NULL, NULL, &edges);
    if (result == CUDA_SUCCESS)
        result = cuGraphNodeGetType(*ANY(nodes), &type);
    printf("(%zu %zu %d) ", n, edges, (int)type);
    return result;
}

static CUresult change(void)
{
    CUDA_MEMSET_NODE_PARAMS set = some_set();
    return pick(2) ? cuGraphMemsetNodeSetParams(*ANY(nodes), &set)
                   : cuGraphExecMemsetNodeSetParams(*ANY(execs), *ANY(nodes), &set, gpu.context);
}

static CUresult depend(void)
{
    CUgraphNode from = *ANY(nodes), to = *ANY(nodes);
    return cuGraphAddDependencies(*ANY(graphs), &from, &to, NULL, 1);
}

// ---- memory ----

// Fills new memory first, because its contents are undefined.
static CUresult fill_and_copy(CUdeviceptr from)
{
    CUresult result = cuMemsetD32Async(from, pick(9), 100, streams[1]);
    if (result == CUDA_SUCCESS)
        result = cuStreamSynchronize(streams[1]);
    return result == CUDA_SUCCESS ? cuMemcpyDtoDAsync(buffers[0], from, 400, streams[1]) : result;
}

static CUresult range_call(void)
{
    unsigned i = pick(RANGES);
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu.device}};
    CUmemAccessDesc open = {{CU_MEM_LOCATION_TYPE_DEVICE, gpu.device},
                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    switch (pick(7)) {
    case 0: return ranges[i] ? CUDA_SUCCESS : cuMemAddressReserve(&ranges[i], PIECE, 0, 0, 0);
    case 1: return pieces[i] ? CUDA_SUCCESS : cuMemCreate(&pieces[i], PIECE, &prop, 0);
    case 2: return cuMemMap(ranges[i], PIECE, 0, pieces[pick(RANGES)], 0);
    case 3: return cuMemSetAccess(ranges[i], PIECE, &open, 1);
    case 4: return cuMemsetD32Async(ranges[i] + 4096, pick(9), 100, streams[0]);
    case 5: return cuMemUnmap(ranges[i], PIECE);
    default: return fill_and_copy(ranges[i] + 4096);
    }
}

static CUresult pool_call(void)
{
    CUdeviceptr *memory = ANY(allocated);
    CUresult result;
    if (!*memory)
        return cuMemAllocAsync(memory, pick(20) ? 1 + pick(100000) : 0, streams[0]);
    if (pick(2))
        return cuMemsetD8Async(*memory, (unsigned char)pick(256), 1, streams[0]);
    result = cuMemFreeAsync(*memory, streams[0]);
    *memory = 0;
    return result;
}

static CUresult event_call(void)
{
    CUevent *event = ANY(events);
    switch (pick(4)) {
    case 0: return cuEventRecord(*event, streams[pick(2)]);
    case 1: return cuEventQuery(*event);
    case 2: return cuStreamWaitEvent(streams[pick(2)], *event, 0);
    default: return cuEventSynchronize(*event);
    }
}

// No handle of a destroyed object is used, because the driver's behaviour is undefined then.
static CUresult end_graph(void)
{
    unsigned i = pick(GRAPHS);
    CUresult result = cuGraphDestroy(graphs[i]);
    for (unsigned j = 0; j < NODES; j++)
        if (nodes_graph[j] == i)
            nodes[j] = NULL;
    graphs[i] = NULL;
    last[i] = NULL;
    return result;
}

static CUresult end_exec(void)
{
    CUgraphExec *exec = ANY(execs), gone = *exec;
    *exec = NULL;
    return cuGraphExecDestroy(gone);
}

static CUresult step(unsigned which)
{
    switch (which) {
    case 0: return make_graph();
    case 1: return pick(3) ? end_exec() : end_graph();
    case 2:
    case 3:
    case 4:
    case 5: return add_node();
    case 6: return make_exec();
    case 7: return update();
    case 8:
    case 9: return cuGraphLaunch(*ANY(execs), streams[pick(2)]);
    case 10: return look();
    case 11: return change();
    case 12: return cuGraphUpload(*ANY(execs), streams[1]);
    case 13: return depend();
    case 14: return clone_graph();
    case 15: return range_call();
    case 16: return pool_call();
    case 17: return event_call();
    default: return cuGraphUpload(*ANY(execs), streams[0]);
    }
}

static void tell_memory(void)
{
    uint32_t hash = 2166136261u;
    unsigned char bytes[BYTES];
    for (unsigned i = 0; i < BUFFERS; i++) {
        CHECK(cuMemcpyDtoH(bytes, buffers[i], BYTES));
        for (unsigned j = 0; j < BYTES; j++)
            hash = (hash ^ bytes[j]) * 16777619u;
    }
    printf("memory %08x, %u calls\n", hash, called);
}

int main(int argc, char **argv)
{
    int steps = argc > 2 ? atoi(argv[2]) : 300;
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    gpu = open_gpu(0);
    add_function = kernel(&gpu, "add");
    fill_random(host, sizeof(host), 3);
    for (unsigned i = 0; i < BUFFERS; i++) {
        buffers[i] = device_alloc(8 * BYTES);
        CHECK(cuMemsetD8(buffers[i], (unsigned char)i, 8 * BYTES));
    }
    for (unsigned i = 0; i < 2; i++)
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < GRAPHS; i++)
        graphs[i] = new_graph();
    for (unsigned i = 0; i < NODES; i++)
        CHECK(cuGraphAddEmptyNode(&nodes[i], graphs[nodes_graph[i] = i % GRAPHS], NULL, 0));
    for (unsigned i = 0; i < EVENTS; i++)
        CHECK(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
    CHECK(cuCtxSynchronize());
    for (int i = 0; i < steps; i++) {
        unsigned which = pick(19);
        CUresult result = step(which), later = cuCtxSynchronize();
        printf("%d %u %s\n", i, which, result_name(result != CUDA_SUCCESS ? result : later));
        if (i % 20 == 19)
            tell_memory();
    }
    return 0;
}
