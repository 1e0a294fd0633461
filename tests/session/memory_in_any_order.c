// SPDX-License-Identifier: BSD-3-Clause
// Takes and frees memory of the GPU by every kind of call, in any order and more than there is.
// Each round uses two kinds, in the primary context or in one of its own. After each call, what
// cuMemGetInfo reports as free and what the program has are no more than the total; after each
// round, all is free again. Drivers keep memory of streams and nodes for later ones, so as many of
// them as the rounds make are made before. usage: memory-in-any-order SEED ROUNDS
#include "tests/programs/array_calls.h"
#include "tests/programs/graph_calls.h"

#include <unistd.h>

enum {
    SLOTS = 6,
    STEPS = 40,
    KINDS = 10,
    SECONDS_MAX = 120, // of a round
    PIECE = 2 << 20,
    STREAMS = 4, // of a slot
    NODES = 40   // of the body of a conditional node
};

// The program's allocations; a slot is free while its size is 0.
struct slot {
    size_t size;
    CUdeviceptr address;
    void *handle; // an array, a module, a library, an executable graph
    CUstream streams[STREAMS];
    CUmemGenericAllocationHandle piece;
    unsigned kind;
};

static struct gpu gpu;
static CUstream streams[2], releasing;
static CUdeviceptr flag; // the word that a held stream waits for
static CUmemoryPool pool;
static struct slot slots[KINDS][SLOTS];
static uint64_t state;
static unsigned done_calls[KINDS], full_calls[KINDS], wanted;
static size_t total;
static bool held;
static unsigned waiting; // streams of slots that wait for the held one's release

static unsigned pick(unsigned below)
{
    return random_u32(&state) % below;
}

// From some bytes to half of what there is, two of three near that.
static size_t some_size(void)
{
    unsigned bits = 4;

    while ((total >> 1) >> (bits + 1))
        bits++;
    unsigned chosen = pick(3) ? bits - pick(4) : 4 + pick(bits - 3);
    return 1 + random_u32(&state) % ((size_t)1 << chosen);
}

static void release(void)
{
    if (held)
        CHECK(cuMemsetD32Async(flag, wanted, 1, releasing));
    held = false;
    waiting = 0;
}

// Releases the stream first, since calls that wait for the GPU would never return.
static void complete(void)
{
    release();
    CHECK(cuCtxSynchronize());
}

// ---- the kinds ----

static CUresult take_plain(struct slot *slot, CUstream stream)
{
    size_t pitch, width = 64 + pick(1000);

    slot->kind = pick(5);
    if (slot->kind > 0)
        return cuMemAlloc(&slot->address, slot->size);
    return cuMemAllocPitch(&slot->address, &pitch, width, 1 + slot->size / width, 4);
}

static CUresult free_plain(struct slot *slot, CUstream stream)
{
    if (pick(2))
        return cuMemFreeAsync(slot->address, stream);
    complete();
    return cuMemFree(slot->address);
}

static CUresult take_pooled(struct slot *slot, CUstream stream)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu.device}};
    cuuint64_t keep = pick(2) ? UINT64_MAX : 0;

    if (!pool)
        CHECK(cuMemPoolCreate(&pool, &props));
    if (!pick(6))
        CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    if (!pick(6))
        CHECK(cuMemPoolTrimTo(pool, 0));
    return pick(2) ? cuMemAllocAsync(&slot->address, slot->size, stream)
                   : cuMemAllocFromPoolAsync(&slot->address, slot->size, pool, stream);
}

static CUresult free_pooled(struct slot *slot, CUstream stream)
{
    if (!pick(8) && pool) { // its memory stays until it is freed
        CHECK(cuMemPoolDestroy(pool));
        pool = NULL;
    }
    if (pick(3))
        return cuMemFreeAsync(slot->address, stream);
    complete();
    return cuMemFree(slot->address);
}

static CUresult take_array(struct slot *slot, CUstream stream)
{
    size_t side = 1;

    while ((side + 1) * (side + 1) * 4 <= slot->size && side < 8000)
        side++;
    CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = side, .Height = side, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    slot->size = side * side * 4;
    slot->kind = pick(3);
    if (slot->kind > 0)
        return cuArray3DCreate((CUarray *)&slot->handle, &shape);
    return cuMipmappedArrayCreate((CUmipmappedArray *)&slot->handle, &shape, 1);
}

static CUresult free_array(struct slot *slot, CUstream stream)
{
    complete();
    return slot->kind > 0 ? cuArrayDestroy((CUarray)slot->handle)
                          : cuMipmappedArrayDestroy((CUmipmappedArray)slot->handle);
}

static CUresult take_piece(struct slot *slot, CUstream stream)
{
    CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu.device}};
    CUmemAccessDesc open = {{CU_MEM_LOCATION_TYPE_DEVICE, gpu.device},
                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle piece;

    slot->size = (slot->size + PIECE - 1) / PIECE * PIECE;
    CUresult result = cuMemCreate(&piece, slot->size, &props, 0);
    if (result != CUDA_SUCCESS)
        return result;
    CHECK(cuMemAddressReserve(&slot->address, slot->size, 0, 0, 0));
    CHECK(cuMemMap(slot->address, slot->size, 0, piece, 0));
    CHECK(cuMemSetAccess(slot->address, slot->size, &open, 1));
    slot->kind = pick(2);
    if (slot->kind > 0) // it lives as long as it is mapped
        CHECK(cuMemRelease(piece));
    else
        slot->piece = piece;
    return CUDA_SUCCESS;
}

static CUresult free_piece(struct slot *slot, CUstream stream)
{
    complete();
    CHECK(cuMemUnmap(slot->address, slot->size));
    if (slot->kind == 0)
        CHECK(cuMemRelease(slot->piece));
    return cuMemAddressFree(slot->address, slot->size);
}

// Builds a graph that allocates memory; every second one also frees it. The program frees the
// memory of the others if the graph has run.
static CUresult take_graph(struct slot *slot, CUstream stream)
{
    CUDA_MEM_ALLOC_NODE_PARAMS params = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                       .location = {CU_MEM_LOCATION_TYPE_DEVICE,
                                                                    gpu.device}},
                                         .bytesize = slot->size};
    CUgraph graph = new_graph();
    CUgraphNode allocated, freed;

    slot->kind = pick(2);
    CUresult result = cuGraphAddMemAllocNode(&allocated, graph, NULL, 0, &params);
    if (result == CUDA_SUCCESS && slot->kind > 0)
        result = cuGraphAddMemFreeNode(&freed, graph, &allocated, 1, params.dptr);
    if (result == CUDA_SUCCESS)
        result = cuGraphInstantiate((CUgraphExec *)&slot->handle, graph, 0);
    CHECK(cuGraphDestroy(graph));
    if (result != CUDA_SUCCESS)
        return result;
    slot->address = params.dptr;
    if (pick(2))
        result = cuGraphUpload((CUgraphExec)slot->handle, stream);
    if (result == CUDA_SUCCESS)
        result = cuGraphLaunch((CUgraphExec)slot->handle, stream);
    if (result == CUDA_SUCCESS && !held)
        result = cuStreamSynchronize(stream);
    if (result != CUDA_SUCCESS)
        cuGraphExecDestroy((CUgraphExec)slot->handle);
    return result;
}

static CUresult free_graph(struct slot *slot, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;

    complete();
    if (slot->kind == 0)
        result = pick(2) ? cuMemFreeAsync(slot->address, stream) : cuMemFree(slot->address);
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy((CUgraphExec)slot->handle));
    return result == CUDA_SUCCESS && pick(2) ? cuDeviceGraphMemTrim(gpu.device) : result;
}

static CUresult take_module(struct slot *slot, CUstream stream)
{
    char text[512];

    snprintf(text, sizeof(text),
             ".version 7.0\n.target sm_50\n.address_size 64\n"
             ".visible .global .align 16 .b8 large[%zu];\n",
             slot->size);
    complete();
    return cuModuleLoadData((CUmodule *)&slot->handle, text);
}

static CUresult free_module(struct slot *slot, CUstream stream)
{
    complete();
    return cuModuleUnload((CUmodule)slot->handle);
}

// A library takes memory when it is used.
static CUresult use_library(CUlibrary library, CUstream stream)
{
    CUfunction function;
    CUdeviceptr address;
    CUmodule module;
    CUkernel kernel;

    CHECK(cuLibraryGetKernel(&kernel, library, "f"));
    switch (pick(4)) {
    case 0: return cuLibraryGetGlobal(&address, NULL, library, "large");
    case 1: return cuLibraryGetModule(&module, library);
    case 2: return cuKernelGetFunction(&function, kernel);
    default: return cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
    }
}

static CUresult take_library(struct slot *slot, CUstream stream)
{
    static char text[512 + (64 << 10)];
    CUlibrary library;

    int length = snprintf(text, sizeof(text),
                          ".version 7.0\n.target sm_50\n.address_size 64\n"
                          ".visible .global .align 16 .b8 large[%zu];\n"
                          ".visible .entry f() { ret; }\n//",
                          slot->size);
    memset(text + length, 'x', sizeof(text) - (size_t)length);
    text[(size_t)length + pick(64 << 10)] = '\0';
    complete();
    CUresult result = cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0);
    if (result == CUDA_SUCCESS && (result = use_library(library, stream)) != CUDA_SUCCESS)
        CHECK(cuLibraryUnload(library));
    slot->handle = library;
    return result;
}

static CUresult free_library(struct slot *slot, CUstream stream)
{
    complete();
    return cuLibraryUnload((CUlibrary)slot->handle);
}

static CUresult free_streams(struct slot *slot, CUstream stream)
{
    for (unsigned i = 0; i < slot->kind; i++)
        CHECK(cuStreamDestroy(slot->streams[i]));
    return CUDA_SUCCESS;
}

// Some have work when they are destroyed. One of them at most waits with the held stream: a driver
// has eight queues for all streams, and blocked ones hold the release back.
static CUresult take_streams(struct slot *slot, CUstream stream)
{
    unsigned count = 1 + pick(STREAMS);
    CUresult result = CUDA_SUCCESS;

    for (slot->kind = 0; slot->kind < count && result == CUDA_SUCCESS; slot->kind++)
        if ((result = cuStreamCreate(&slot->streams[slot->kind], CU_STREAM_NON_BLOCKING)) !=
            CUDA_SUCCESS)
            break;
    if (result != CUDA_SUCCESS)
        free_streams(slot, stream);
    else if (pick(2) && !(held && waiting++))
        CHECK(cuStreamWaitValue32(slot->streams[0], flag, wanted, CU_STREAM_WAIT_VALUE_GEQ));
    return result;
}

// A graph with a conditional node, in whose body NODES follow each other.
static CUresult conditional_graph(unsigned nodes, CUgraphExec *exec)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    CUgraph graph = new_graph();
    CUgraphNode node, before;
    CUcontext context;

    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuGraphConditionalHandleCreate(&params.conditional.handle, graph, context, 1, 1));
    params.conditional.type = CU_GRAPH_COND_TYPE_IF;
    params.conditional.size = 1;
    params.conditional.ctx = context;
    CHECK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    for (unsigned i = 0; i < nodes; i++, before = node)
        CHECK(cuGraphAddEmptyNode(&node, params.conditional.phGraph_out[0], i ? &before : NULL,
                                  i > 0));
    CUresult result = cuGraphInstantiate(exec, graph, 0);
    CHECK(cuGraphDestroy(graph));
    return result;
}

static CUresult take_conditional(struct slot *slot, CUstream stream)
{
    CUresult result = conditional_graph(1 + pick(NODES), (CUgraphExec *)&slot->handle);

    if (result == CUDA_SUCCESS && pick(2))
        CHECK(cuGraphLaunch((CUgraphExec)slot->handle, stream));
    return result;
}

static CUresult free_conditional(struct slot *slot, CUstream stream)
{
    complete();
    return cuGraphExecDestroy((CUgraphExec)slot->handle);
}

static CUresult take_managed(struct slot *slot, CUstream stream)
{
    CUresult result = cuMemAllocManaged(&slot->address, slot->size, CU_MEM_ATTACH_GLOBAL);

    return result != CUDA_SUCCESS ? result : cuMemsetD8Async(slot->address, 1, slot->size, stream);
}

static CUresult free_managed(struct slot *slot, CUstream stream)
{
    complete();
    return cuMemFree(slot->address);
}

static const struct kind {
    const char *name;
    CUresult (*take)(struct slot *, CUstream), (*free)(struct slot *, CUstream);
    bool counted; // the program knows what of it is taken at any time
} kinds[KINDS] = {
    {"plain", take_plain, free_plain, true},
    {"pooled", take_pooled, free_pooled, true},
    {"array", take_array, free_array, true},
    {"piece", take_piece, free_piece, true},
    {"graph", take_graph, free_graph, false},
    {"module", take_module, free_module, true},
    {"managed", take_managed, free_managed, true},
    {"library", take_library, free_library, true},
    {"streams", take_streams, free_streams, false},
    {"conditional", take_conditional, free_conditional, false},
};

// ---- rounds ----

static size_t held_bytes(void)
{
    size_t sum = 0;

    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned i = 0; i < SLOTS && kinds[k].counted; i++)
            sum += slots[k][i].size;
    return sum;
}

static size_t free_bytes(void)
{
    size_t bytes, all;

    CHECK(cuMemGetInfo(&bytes, &all));
    return bytes;
}

static void give_back(unsigned k, struct slot *slot, CUstream stream)
{
    CUresult result = kinds[k].free(slot, stream);

    if (result != CUDA_SUCCESS)
        bail("freeing of %s gave %s", kinds[k].name, result_name(result));
    *slot = (struct slot){0};
}

static void step(unsigned k)
{
    struct slot *slot = &slots[k][pick(SLOTS)];
    CUstream stream = streams[pick(2)];
    unsigned number = (unsigned)(slot - slots[k]);

    if (slot->size) {
        give_back(k, slot, stream);
        printf("free %s %u, stream %d, held %d\n", kinds[k].name, number, stream == streams[1],
               held);
        return;
    }
    slot->size = some_size();
    CUresult result = kinds[k].take(slot, stream);
    printf("take %s %u of %zu, stream %d, held %d: %s\n", kinds[k].name, number, slot->size,
           stream == streams[1], held, result_name(result));
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY)
        bail("taking of %s gave %s", kinds[k].name, result_name(result));
    (result == CUDA_SUCCESS ? done_calls : full_calls)[k]++;
    if (result != CUDA_SUCCESS)
        *slot = (struct slot){0};
}

static void hold(void)
{
    wanted++;
    CHECK(cuStreamWaitValue32(streams[0], flag, wanted, CU_STREAM_WAIT_VALUE_GEQ));
    held = true;
}

static void free_all(void)
{
    complete();
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned i = 0; i < SLOTS; i++)
            if (slots[k][i].size)
                give_back(k, &slots[k][i], streams[1]);
    complete();
    if (pool)
        CHECK(cuMemPoolDestroy(pool));
    pool = NULL;
}

static void trim(void)
{
    CUmemoryPool standard;

    complete();
    CHECK(cuDeviceGetDefaultMemPool(&standard, gpu.device));
    CHECK(cuMemPoolTrimTo(standard, 0));
    CHECK(cuDeviceGraphMemTrim(gpu.device));
}

static void round_of(unsigned number)
{
    unsigned pair[2] = {pick(KINDS), pick(KINDS)};
    bool own = !pick(4);
    CUcontext context = NULL;
    size_t before = free_bytes();

    alarm(SECONDS_MAX);
    printf("round %u: %s and %s\n", number, kinds[pair[0]].name, kinds[pair[1]].name);
    if (own && cuCtxCreate_v2(&context, 0, gpu.device) != CUDA_SUCCESS)
        context = NULL;
    if (context)
        printf("in a context of its own\n");
    flag = device_alloc(4);
    CHECK(cuMemsetD32(flag, wanted, 1));
    CHECK(cuStreamCreate(&releasing, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 2; i++)
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < STEPS; i++) {
        if (!held && !pick(8))
            hold();
        else if (held && !pick(4))
            release();
        step(pair[pick(2)]);
        size_t left = free_bytes(), mine = held_bytes();
        if (left > total || mine > total - left)
            bail("round %u, %s and %s: %zu bytes are free of %zu beside %zu of the program's",
                 number, kinds[pair[0]].name, kinds[pair[1]].name, left, total, mine);
    }
    free_all();
    trim();
    for (unsigned i = 0; i < 2; i++)
        CHECK(cuStreamDestroy(streams[i]));
    CHECK(cuStreamDestroy(releasing));
    CHECK(cuMemFree(flag));
    if (context)
        CHECK(cuCtxDestroy(context));
    if (free_bytes() != before)
        bail("round %u, %s and %s%s: %zu bytes were free before, %zu are after", number,
             kinds[pair[0]].name, kinds[pair[1]].name, context ? " in a context of its own" : "",
             before, free_bytes());
}

// At most twice as many streams as slots have exist at one time, since those with work may be
// destroyed.
static void make_most(void)
{
    CUstream most[2 * SLOTS * STREAMS + 4];
    CUgraphExec exec;

    for (unsigned i = 0; i < sizeof(most) / sizeof(most[0]); i++)
        CHECK(cuStreamCreate(&most[i], CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < sizeof(most) / sizeof(most[0]); i++)
        CHECK(cuStreamDestroy(most[i]));
    CHECK(conditional_graph(2 * SLOTS * NODES, &exec));
    CHECK(cuGraphExecDestroy(exec));
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 20;
    size_t left;

    setvbuf(stdout, NULL, _IOLBF, 0);
    state = argc > 1 ? strtoull(argv[1], NULL, 10) + 1 : 1;
    gpu = open_gpu(0);
    CHECK(cuMemGetInfo(&left, &total));
    make_most();
    for (unsigned i = 0; i < rounds; i++)
        round_of(i);
    for (unsigned k = 0; k < KINDS; k++)
        printf("%s: %u had, %u refused\n", kinds[k].name, done_calls[k], full_calls[k]);
    return 0;
}
