// SPDX-License-Identifier: BSD-3-Clause
// usage: peers [lost DEVICE STREAM | text TEXT | calls | mapped | lent | cut | cut-held]. Copies
// between two devices, over any connection: the data is right, copies follow the order of their own
// stream only, and they do not block the program. With `lost`, the script that runs this takes the
// device away in the middle of copies that are in a stream of device STREAM. With `cut` and
// `cut-held` it cuts what the two devices are linked by, between copies or while one is still to
// come.
#include "tests/programs/array_calls.h"
#include "tests/programs/driver.h"
#include "tests/programs/graph_calls.h"

enum { MIB = 1 << 20, MANY = 2000 };

static struct gpu gpu[2];
static int access; // whether the devices reach each other's memory
static CUstream stream[2];

static void on(int device)
{
    CHECK(cuCtxSetCurrent(gpu[device].context));
}

static CUdeviceptr filled(int device, size_t size, uint64_t seed)
{
    on(device);
    return device_random(size, seed);
}

static bool holds(int device, CUdeviceptr data, size_t size, uint64_t seed)
{
    on(device);
    return has_random(data, size, seed);
}

static void free_on(int device, CUdeviceptr data)
{
    on(device);
    CHECK(cuMemFree(data));
}

// ---- every call that copies between devices ----

enum way { PEER, PEER_ASYNC, DTOD, DTOD_ASYNC, UNIFIED, UNIFIED_ASYNC, PEER_3D_ASYNC, WAYS };
static const char *const way_names[] = {"cuMemcpyPeer",       "cuMemcpyPeerAsync", "cuMemcpyDtoD",
                                        "cuMemcpyDtoDAsync",  "cuMemcpy",          "cuMemcpyAsync",
                                        "cuMemcpy3DPeerAsync"};

static CUresult copy(enum way way, CUdeviceptr dst, int to, CUdeviceptr src, int from, size_t size,
                     CUstream in)
{
    CUDA_MEMCPY3D_PEER box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = src,
                              .srcContext = gpu[from].context,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = dst,
                              .dstContext = gpu[to].context,
                              .WidthInBytes = size,
                              .Height = 1,
                              .Depth = 1};
    switch (way) {
    case PEER: return cuMemcpyPeer(dst, gpu[to].context, src, gpu[from].context, size);
    case PEER_ASYNC:
        return cuMemcpyPeerAsync(dst, gpu[to].context, src, gpu[from].context, size, in);
    case DTOD: return cuMemcpyDtoD(dst, src, size);
    case DTOD_ASYNC: return cuMemcpyDtoDAsync(dst, src, size, in);
    case UNIFIED: return cuMemcpy(dst, src, size);
    case UNIFIED_ASYNC: return cuMemcpyAsync(dst, src, size, in);
    case PEER_3D_ASYNC: return cuMemcpy3DPeerAsync(&box, in);
    case WAYS: break;
    }
    return CUDA_ERROR_UNKNOWN;
}

static void every_call(void)
{
    const size_t size = 3 * MIB + 12;
    for (enum way way = 0; way < WAYS; way++) {
        unsigned wrong = 0;
        for (int from = 0; from < 2; from++)
            for (int with = 0; with < 2; with++) {
                CUdeviceptr src = filled(from, size, way * 4 + 1);
                CUdeviceptr dst = filled(!from, size, 99);
                on(with);
                CHECK(copy(way, dst, !from, src, from, size, stream[with]));
                CHECK(cuCtxSynchronize());
                wrong += !holds(!from, dst, size, way * 4 + 1);
                free_on(from, src);
                free_on(!from, dst);
            }
        is_int(wrong, 0, "%s copies both ways, whichever device's stream it is in", way_names[way]);
    }
}

// ---- order ----

// Long enough that work which does not wait would be over.
static void let_others_run(int device, int times)
{
    static CUstream other[2];
    unsigned long long pause = 3000000;
    on(device);
    if (!other[device])
        CHECK(cuStreamCreate(&other[device], CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < times; i++) {
        launch(kernel(&gpu[device], "delay"), 1, 1, other[device], &pause);
        CHECK(cuStreamSynchronize(other[device]));
    }
}

// Checks a pending copy: it delays neither the program nor another copy, and later work of its
// stream waits.
static void in_order(int from, int with)
{
    const size_t size = 2 * MIB;
    const char *whose = with == from ? "source" : "target";
    CUdeviceptr src = filled(from, size, 1), dst = filled(!from, size, 2);
    CUdeviceptr other_src = filled(from, size, 3), other_dst = filled(!from, size, 4);
    CUdeviceptr behind = filled(with, size, 5);
    CUstream free_stream;
    on(with);
    CHECK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
    struct hold hold = hold_stream(&gpu[with], stream[with]);
    gives(cuMemcpyPeerAsync(dst, gpu[!from].context, src, gpu[from].context, size, stream[with]),
          CUDA_SUCCESS, "a copy is queued behind work of the %s that is not over", whose);
    CHECK(cuMemcpyDtoDAsync(behind, with == from ? src : dst, size, stream[with]));
    CHECK(cuMemcpyPeerAsync(other_dst, gpu[!from].context, other_src, gpu[from].context, size,
                            free_stream));
    // A driver has the copies of a target wait for each other.
    if (with == from) {
        gives(cuStreamSynchronize(free_stream), CUDA_SUCCESS, "a copy of another stream passes it");
        ok(holds(!from, other_dst, size, 3), "and is right");
    }
    let_others_run(with, 5);
    gives(cuStreamQuery(stream[with]), CUDA_ERROR_NOT_READY, "the first one waits for its turn");
    ok(holds(!from, dst, size, 2), "and has changed nothing");
    on(with);
    hold_release(&hold);
    gives(cuStreamSynchronize(stream[with]), CUDA_SUCCESS, "it comes to its turn");
    CHECK(cuStreamSynchronize(free_stream));
    ok(holds(!from, other_dst, size, 3), "the other one is right as well");
    on(with);
    ok(holds(!from, dst, size, 1), "and is right");
    ok(holds(with, behind, size, 1), "what is behind it in its stream found it done");
    on(with);
    CHECK(cuStreamDestroy(free_stream));
    free_on(from, src);
    free_on(!from, dst);
    free_on(from, other_src);
    free_on(!from, other_dst);
    free_on(with, behind);
}

// As frameworks do it: the source's stream waits for the target's, copies, and the target's waits
// for that.
static void between_events(void)
{
    const size_t size = MIB;
    CUdeviceptr src = filled(0, size, 7), dst = filled(1, size, 8), later = filled(1, size, 9);
    CUevent ready, done;
    on(1);
    CHECK(cuEventCreate(&ready, CU_EVENT_DISABLE_TIMING));
    on(0);
    CHECK(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
    unsigned wrong = 0;
    for (unsigned round = 0; round < 20; round++) {
        on(0);
        CHECK(cuMemsetD32Async(src, round, size / 4, stream[0]));
        on(1);
        CHECK(cuEventRecord(ready, stream[1]));
        on(0);
        CHECK(cuStreamWaitEvent(stream[0], ready, 0));
        CHECK(cuMemcpyAsync(dst, src, size, stream[0]));
        CHECK(cuEventRecord(done, stream[0]));
        on(1);
        CHECK(cuStreamWaitEvent(stream[1], done, 0));
        CHECK(cuMemcpyDtoDAsync(later, dst, size, stream[1]));
        if (round % 5 != 4)
            continue;
        uint32_t *got = must_alloc(size);
        CHECK(cuMemcpyDtoHAsync(got, later, size, stream[1]));
        CHECK(cuStreamSynchronize(stream[1]));
        for (size_t i = 0; i < size / 4; i++)
            wrong += got[i] != round;
        free(got);
    }
    is_int(wrong, 0, "copies between events of both devices are seen by whoever waits for them");
    on(1);
    CHECK(cuEventDestroy(ready));
    on(0);
    CHECK(cuEventDestroy(done));
    free_on(0, src);
    free_on(1, dst);
    free_on(1, later);
}

// Between the program's memory and a device, in a stream of the other one.
static void host_copies(void)
{
    const size_t size = 2 * MIB + 8;
    unsigned char *host, *back, *want = must_alloc(size);
    CUdeviceptr data = filled(1, size, 80);
    on(0);
    CHECK(cuMemAllocHost((void **)&host, size));
    CHECK(cuMemAllocHost((void **)&back, size));
    fill_random(host, size, 81);
    fill_random(want, size, 81);
    gives(cuMemcpyHtoDAsync(data, host, size, stream[0]), CUDA_SUCCESS,
          "memory is copied to a device in the other one's stream");
    gives(cuMemcpyDtoHAsync(back, data, size, stream[0]), CUDA_SUCCESS, "and from it");
    CHECK(cuStreamSynchronize(stream[0]));
    ok(holds(1, data, size, 81) && !memcmp(back, want, size), "both are right");
    on(0);
    CHECK(cuMemFreeHost(host));
    CHECK(cuMemFreeHost(back));
    free_on(1, data);
    free(want);
}

// More copies, both ways, than anything keeps at one time.
static void many(void)
{
    const size_t size = 1024;
    CUdeviceptr src[2], dst[2];
    for (int d = 0; d < 2; d++) {
        src[d] = filled(d, size * MANY, 20 + (uint64_t)d);
        dst[d] = filled(d, size * MANY, 30);
    }
    for (size_t i = 0; i < MANY; i++)
        for (int d = 0; d < 2; d++) {
            on(d);
            CHECK(cuMemcpyPeerAsync(dst[!d] + i * size, gpu[!d].context, src[d] + i * size,
                                    gpu[d].context, size, stream[d]));
        }
    for (int d = 0; d < 2; d++) {
        on(d);
        CHECK(cuStreamSynchronize(stream[d]));
    }
    ok(holds(1, dst[1], size * MANY, 20) && holds(0, dst[0], size * MANY, 21),
       "%d copies each way at once", MANY);
    for (int d = 0; d < 2; d++) {
        free_on(d, src[d]);
        free_on(d, dst[d]);
    }
}

// ---- rectangles ----

static void rectangle(size_t width, size_t height, size_t depth, size_t src_pitch, size_t dst_pitch)
{
    const size_t rows = height + 2, src_size = src_pitch * rows * depth,
                 dst_size = dst_pitch * rows * depth;
    unsigned char *want = must_alloc(dst_size), *from = must_alloc(src_size);
    unsigned char *got = must_alloc(dst_size);
    CUdeviceptr src = filled(0, src_size, 40), dst = filled(1, dst_size, 41);
    CUDA_MEMCPY3D_PEER box = {.srcXInBytes = 4,
                              .srcY = 1,
                              .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = src,
                              .srcContext = gpu[0].context,
                              .srcPitch = src_pitch,
                              .srcHeight = rows,
                              .dstXInBytes = 8,
                              .dstY = 2,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = dst,
                              .dstContext = gpu[1].context,
                              .dstPitch = dst_pitch,
                              .dstHeight = rows,
                              .WidthInBytes = width,
                              .Height = height,
                              .Depth = depth};
    fill_random(from, src_size, 40);
    fill_random(want, dst_size, 41);
    for (size_t z = 0; z < depth; z++)
        for (size_t y = 0; y < height; y++)
            memcpy(want + (z * rows + y + 2) * dst_pitch + 8,
                   from + (z * rows + y + 1) * src_pitch + 4, width);
    on(1);
    CHECK(cuMemcpy3DPeerAsync(&box, stream[1]));
    CHECK(cuStreamSynchronize(stream[1]));
    CHECK(cuMemcpyDtoH(got, dst, dst_size));
    ok(!memcmp(got, want, dst_size), "%zu planes of %zu rows of %zu bytes", depth, height, width);
    free_on(0, src);
    free_on(1, dst);
    free(want);
    free(from);
    free(got);
}

// ---- arrays, and memory of the program ----

enum { COLUMNS = 60, ROWS = 20, PLANES = 3, PART = COLUMNS * ROWS * PLANES * 4 };
enum place { IN_ARRAY, IN_MEMORY, IN_PROGRAM, PLACES };

// A part of 48 bytes, 10 rows and 2 planes, at the same corner on both sides.
static CUDA_MEMCPY3D_PEER corner(void)
{
    return (CUDA_MEMCPY3D_PEER){.srcXInBytes = 16,
                                .srcY = 3,
                                .srcZ = 1,
                                .dstXInBytes = 16,
                                .dstY = 3,
                                .dstZ = 1,
                                .srcPitch = 4 * COLUMNS,
                                .srcHeight = ROWS,
                                .dstPitch = 4 * COLUMNS,
                                .dstHeight = ROWS,
                                .WidthInBytes = 48,
                                .Height = 10,
                                .Depth = 2};
}

// Everything between an array or memory of DEVICE and HOST.
static void all_of(int device, CUarray array, CUdeviceptr memory, void *host, bool to_host)
{
    CUDA_MEMCPY3D_PEER all = {.srcPitch = 4 * COLUMNS,
                              .srcHeight = ROWS,
                              .dstPitch = 4 * COLUMNS,
                              .dstHeight = ROWS,
                              .WidthInBytes = 4 * COLUMNS,
                              .Height = ROWS,
                              .Depth = PLANES};
    CUmemorytype type = array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
    on(device);
    if (to_host) {
        all.srcMemoryType = type;
        all.srcArray = array;
        all.srcDevice = memory;
        all.srcContext = gpu[device].context;
        all.dstMemoryType = CU_MEMORYTYPE_HOST;
        all.dstHost = host;
    } else {
        all.srcMemoryType = CU_MEMORYTYPE_HOST;
        all.srcHost = host;
        all.dstMemoryType = type;
        all.dstArray = array;
        all.dstDevice = memory;
        all.dstContext = gpu[device].context;
    }
    CHECK(cuMemcpy3DPeer(&all));
}

// From PLACE of device 0 to OTHER of device 1, in the stream of device WITH.
static bool part_is_right(enum place place, enum place other, int with)
{
    static unsigned char from[PART], to[PART], want[PART];
    CUDA_MEMCPY3D_PEER part = corner();
    on(0);
    CUarray src = make_array(COLUMNS, ROWS, PLANES, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0);
    CUdeviceptr src_memory = device_alloc(PART);
    on(1);
    CUarray dst = make_array(COLUMNS, ROWS, PLANES, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0);
    CUdeviceptr dst_memory = device_alloc(PART);
    fill_random(from, PART, 30);
    fill_random(to, PART, 31);
    memcpy(want, to, PART);
    for (size_t z = 1; z < 3; z++)
        for (size_t y = 3; y < 13; y++)
            memcpy(want + (z * ROWS + y) * 4 * COLUMNS + 16,
                   from + (z * ROWS + y) * 4 * COLUMNS + 16, 48);
    if (place != IN_PROGRAM)
        all_of(0, place == IN_ARRAY ? src : NULL, src_memory, from, false);
    if (other != IN_PROGRAM)
        all_of(1, other == IN_ARRAY ? dst : NULL, dst_memory, to, false);
    static const CUmemorytype types[] = {CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE,
                                         CU_MEMORYTYPE_HOST};
    part.srcMemoryType = types[place];
    part.srcArray = src;
    part.srcDevice = src_memory;
    part.srcHost = from;
    part.srcContext = gpu[0].context;
    part.dstMemoryType = types[other];
    part.dstArray = dst;
    part.dstDevice = dst_memory;
    part.dstHost = to;
    part.dstContext = gpu[1].context;
    on(with);
    CHECK(cuMemcpy3DPeerAsync(&part, stream[with]));
    CHECK(cuStreamSynchronize(stream[with]));
    if (other != IN_PROGRAM)
        all_of(1, other == IN_ARRAY ? dst : NULL, dst_memory, to, true);
    on(0);
    CHECK(cuArrayDestroy(src));
    CHECK(cuMemFree(src_memory));
    on(1);
    CHECK(cuArrayDestroy(dst));
    CHECK(cuMemFree(dst_memory));
    return !memcmp(to, want, PART);
}

static void parts(void)
{
    static const char *const names[] = {"an array", "memory", "the program's memory"};
    for (enum place from = 0; from < PLACES; from++)
        for (enum place to = 0; to < PLACES; to++)
            if (from != IN_PROGRAM || to != IN_PROGRAM)
                ok(part_is_right(from, to, 0) && part_is_right(from, to, 1),
                   "a part of %s of one device goes to %s of the other", names[from], names[to]);
}

// ---- what cannot be ----

static void refusals(void)
{
    CUdeviceptr src = filled(0, MIB, 50), dst = filled(1, MIB, 51);
    on(0);
    gives(cuMemcpyPeerAsync(dst, gpu[1].context, src, gpu[0].context, 0, stream[0]), CUDA_SUCCESS,
          "a copy of nothing is none");
    CUresult enabled = cuCtxEnablePeerAccess(gpu[1].context, 0);
    ok(access == 1 ? enabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
                   : enabled == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
       "peer access can be had where the devices say so, and nowhere else (%d, %s)", access,
       result_name(enabled));
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "and nothing later fails for it");
    ok(holds(1, dst, MIB, 51), "nothing was copied");
    free_on(0, src);
    free_on(1, dst);
}

// A graph belongs to one box. A captured copy to another box either becomes part of the graph or
// fails; it is never lost silently.
static void captured(void)
{
    CUdeviceptr src = filled(0, MIB, 70), dst = filled(1, MIB, 71);
    CUgraph graph = NULL;
    CUgraphExec exec;
    on(0);
    CHECK(cuStreamBeginCapture(stream[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    CUresult result = cuMemcpyPeerAsync(dst, gpu[1].context, src, gpu[0].context, MIB, stream[0]);
    CUresult ended = cuStreamEndCapture(stream[0], &graph);
    if (result == CUDA_SUCCESS && ended == CUDA_SUCCESS) {
        CHECK(cuGraphInstantiate(&exec, graph, 0));
        CHECK(cuGraphLaunch(exec, stream[0]));
        CHECK(cuStreamSynchronize(stream[0]));
        CHECK(cuGraphExecDestroy(exec));
    }
    ok(result == CUDA_SUCCESS ? holds(1, dst, MIB, 70) : holds(1, dst, MIB, 71),
       "a copy under capture is in the graph, or refused (%s)", result_name(result));
    if (graph)
        CHECK(cuGraphDestroy(graph));
    CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                         .srcDevice = src,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstDevice = dst,
                         .WidthInBytes = MIB,
                         .Height = 1,
                         .Depth = 1};
    CUgraphNode node;
    on(0);
    CHECK(cuGraphCreate(&graph, 0));
    CUresult added = cuGraphAddMemcpyNode(&node, graph, NULL, 0, &box, gpu[0].context);
    ok(added == result, "a node that copies is as well (%s)", result_name(added));
    CHECK(cuGraphDestroy(graph));
    free_on(0, src);
    free_on(1, dst);
}

// ---- memory that the program maps itself ----

enum { CHUNKS = 3 };
struct mapped {
    CUdeviceptr address;
    CUmemGenericAllocationHandle memory[CHUNKS];
    size_t chunk, size;
};

static void map_chunks(struct mapped *mapped, int device)
{
    CUmemAccessDesc own = {{CU_MEM_LOCATION_TYPE_DEVICE, gpu[device].device},
                           CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    on(device);
    for (int i = 0; i < CHUNKS; i++)
        CHECK(cuMemMap(mapped->address + (size_t)i * mapped->chunk, mapped->chunk, 0,
                       mapped->memory[i], 0));
    CHECK(cuMemSetAccess(mapped->address, mapped->size, &own, 1));
    own.location.id = gpu[!device].device;
    if (access)
        CHECK(cuMemSetAccess(mapped->address, mapped->size, &own, 1));
}

static struct mapped map_memory(int device)
{
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE,
                                                   gpu[device].device}};
    struct mapped mapped = {0};
    on(device);
    CHECK(cuMemGetAllocationGranularity(&mapped.chunk, &properties,
                                        CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    mapped.chunk = (MIB + mapped.chunk - 1) / mapped.chunk * mapped.chunk;
    mapped.size = CHUNKS * mapped.chunk;
    CHECK(cuMemAddressReserve(&mapped.address, mapped.size, 0, 0, 0));
    for (int i = 0; i < CHUNKS; i++)
        CHECK(cuMemCreate(&mapped.memory[i], mapped.chunk, &properties, 0));
    map_chunks(&mapped, device);
    return mapped;
}

static void unmap_memory(const struct mapped *mapped, int device)
{
    on(device);
    CHECK(cuMemUnmap(mapped->address, mapped->size));
    for (int i = 0; i < CHUNKS; i++)
        CHECK(cuMemRelease(mapped->memory[i]));
    CHECK(cuMemAddressFree(mapped->address, mapped->size));
}

static void refill(int device, CUdeviceptr data, size_t size, uint64_t seed)
{
    unsigned char *host = must_alloc(size);
    fill_random(host, size, seed);
    on(device);
    CHECK(cuMemcpyHtoD(data, host, size));
    free(host);
}

// From within one chunk to within another, over all between them.
static bool crosses_chunks(const struct mapped *src, const struct mapped *dst, int from, int with)
{
    const size_t begin = 4096, size = src->size - 2 * begin;
    refill(from, src->address + begin, size, 100);
    refill(!from, dst->address + begin, size, 101);
    on(with);
    CHECK(cuMemcpyPeerAsync(dst->address + begin, gpu[!from].context, src->address + begin,
                            gpu[from].context, size, stream[with]));
    CHECK(cuStreamSynchronize(stream[with]));
    return holds(!from, dst->address + begin, size, 100);
}

// The same addresses stand for other memory from then on.
static void exchange_chunks(struct mapped *mapped, int device)
{
    CUmemGenericAllocationHandle first = mapped->memory[0];
    on(device);
    CHECK(cuMemUnmap(mapped->address, mapped->size));
    mapped->memory[0] = mapped->memory[CHUNKS - 1];
    mapped->memory[CHUNKS - 1] = first;
    map_chunks(mapped, device);
}

static void mapped_copies(void)
{
    struct mapped memory[2] = {map_memory(0), map_memory(1)};
    for (int round = 0; round < 2; round++) {
        bool right = true;
        for (int from = 0; from < 2; from++)
            for (int with = 0; with < 2; with++)
                right &= crosses_chunks(&memory[from], &memory[!from], from, with);
        ok(right, round ? "and so where other memory is mapped there"
                        : "memory that is mapped piece by piece is copied both ways");
        for (int d = 0; d < 2 && !round; d++)
            exchange_chunks(&memory[d], d);
    }
    for (int d = 0; d < 2; d++)
        unmap_memory(&memory[d], d);
}

static int lose(int lost, int with)
{
    enum { SIZE = 8 * MIB };
    char line[8];
    CUdeviceptr src = filled(0, SIZE, 60), dst = filled(1, SIZE, 61);
    CUresult result = CUDA_SUCCESS;
    CUevent ends[2];
    on(with);
    for (int i = 0; i < 2; i++)
        CHECK(cuEventCreate(&ends[i], CU_EVENT_DISABLE_TIMING));
    CHECK(cuMemcpyPeerAsync(dst, gpu[1].context, src, gpu[0].context, SIZE, stream[with]));
    CHECK(cuStreamSynchronize(stream[with]));
    printf("# copies\n");
    fflush(stdout);
    // Some copies are always in progress, so that the loss of the device interrupts one.
    for (unsigned i = 0; result == CUDA_SUCCESS; i++) {
        result = cuMemcpyPeerAsync(dst, gpu[1].context, src, gpu[0].context, SIZE, stream[with]);
        if (result == CUDA_SUCCESS && i % 8 == 7)
            result = cuEventRecord(ends[i / 8 % 2], stream[with]);
        if (result == CUDA_SUCCESS && i % 8 == 7 && i > 8)
            result = cuEventSynchronize(ends[(i / 8 + 1) % 2]);
    }
    ok(true, "copies with a lost device fail (%s)", result_name(result));
    if (!fgets(line, sizeof line, stdin))
        bail("nobody said that the device is gone");
    ok(cuMemcpyPeerAsync(dst, gpu[1].context, src, gpu[0].context, SIZE, stream[with]) !=
           CUDA_SUCCESS,
       "and so do later ones");
    if (with == lost) {
        on(!lost);
        gives(cuCtxSynchronize(), CUDA_SUCCESS, "the other device is as it was");
        ok(cuMemFree(lost ? src : dst) == CUDA_SUCCESS, "and nothing keeps its memory");
    }
    return done();
}

static void await_word(const char *said)
{
    char line[8];
    printf("# %s\n", said);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        bail("nobody said that it is done");
}

// The first device copies to memory that is mapped on the second, which has none of its.
static int lent(void)
{
    struct mapped target = map_memory(1);
    CUdeviceptr src = filled(0, MIB, 110);
    CHECK(cuMemcpyPeerAsync(target.address, gpu[1].context, src, gpu[0].context, MIB, stream[0]));
    CHECK(cuStreamSynchronize(stream[0]));
    ok(holds(1, target.address, MIB, 110), "memory that is mapped is reached");
    await_word("lent");
    return done();
}

static int cut(void)
{
    enum { SIZE = 3 * MIB + 4 };
    CUdeviceptr src = filled(0, SIZE, 90), dst = filled(1, SIZE, 91);
    for (int round = 0; round < 2; round++) {
        CHECK(cuCtxSynchronize());
        on(round);
        CHECK(cuMemcpyPeerAsync(dst, gpu[1].context, src, gpu[0].context, SIZE, stream[round]));
        CHECK(cuStreamSynchronize(stream[round]));
        ok(holds(1, dst, SIZE, 90), round ? "so it is after the cut" : "a copy before the cut");
        free_on(1, dst);
        dst = filled(1, SIZE, 92);
        await_word(round ? "linked again" : "linked");
    }
    return done();
}

static int cut_held(void)
{
    enum { SIZE = 3 * MIB + 4 };
    CUdeviceptr src = filled(0, SIZE, 90), dst = filled(1, SIZE, 91);
    on(0);
    CHECK(cuMemcpyPeerAsync(dst, gpu[1].context, src, gpu[0].context, SIZE, stream[0]));
    CHECK(cuStreamSynchronize(stream[0]));
    struct hold hold = hold_stream(&gpu[0], stream[0]);
    CHECK(cuMemcpyPeerAsync(dst, gpu[1].context, src, gpu[0].context, SIZE, stream[0]));
    await_word("held");
    // The context may have failed by then, which is no reason to leave the stream held.
    CUresult result = cuMemsetD32Async(hold.flag, 1, 1, hold.release);
    if (result == CUDA_SUCCESS)
        result = cuStreamSynchronize(stream[0]);
    ok(result != CUDA_SUCCESS, "a copy that was still to come when its link was cut fails (%s)",
       result_name(result));
    on(1);
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "the other device is as it was");
    ok(holds(1, dst, SIZE, 90), "and its memory as well");
    return done();
}

// A copy of a text, over and over, for who looks at what passes.
static int copy_text(const char *text)
{
    enum { SIZE = 4 * MIB };
    size_t length = strlen(text);
    char *host = must_alloc(SIZE), *got = must_alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        host[i] = text[i % length];
    on(1);
    CUdeviceptr dst = device_alloc(SIZE);
    CHECK(cuMemsetD8(dst, 0, SIZE));
    on(0);
    CUdeviceptr src = device_alloc(SIZE);
    CHECK(cuMemcpyHtoD(src, host, SIZE));
    CHECK(cuMemcpyPeer(dst, gpu[1].context, src, gpu[0].context, SIZE));
    on(1);
    CHECK(cuMemcpyDtoH(got, dst, SIZE));
    ok(!memcmp(got, host, SIZE), "the text is there");
    free(host);
    free(got);
    return done();
}

int main(int argc, char **argv)
{
    need_two_devices();
    for (int d = 0; d < 2; d++) {
        gpu[d] = open_gpu(d);
        CHECK(cuStreamCreate(&stream[d], CU_STREAM_NON_BLOCKING));
        // A kernel that is launched for the first time may have to wait for a stream that is held.
        let_others_run(d, 1);
    }
    // Without peer access the driver copies through the host and waits for the devices.
    CHECK(cuDeviceCanAccessPeer(&access, gpu[0].device, gpu[1].device));
    for (int d = 0; access && d < 2; d++) {
        on(d);
        CHECK(cuCtxEnablePeerAccess(gpu[!d].context, 0));
    }
    if (argc == 3 && !strcmp(argv[1], "text"))
        return copy_text(argv[2]);
    if (argc > 3)
        return lose(atoi(argv[2]), atoi(argv[3]));
    if (argc == 2 && !strcmp(argv[1], "lent"))
        return lent();
    if (argc == 2 && !strcmp(argv[1], "cut"))
        return cut();
    if (argc == 2 && !strcmp(argv[1], "cut-held"))
        return cut_held();
    if (argc == 2 && !strcmp(argv[1], "mapped")) {
        mapped_copies();
        return done();
    }
    every_call();
    if (argc == 2) // the first part, where programs are slow
        return done();
    for (int from = 0; from < 2; from++)
        for (int with = 0; with < 2; with++)
            in_order(from, with);
    between_events();
    host_copies();
    many();
    rectangle(1000, 700, 3, 1024, 1536);
    rectangle(600000, 3, 2, 600032, 600064);
    rectangle(12, 40000, 1, 16, 20);
    parts();
    mapped_copies();
    captured();
    refusals();
    for (int d = 0; d < 2; d++) {
        on(d);
        CHECK(cuStreamDestroy(stream[d]));
        close_gpu(&gpu[d]);
    }
    return done();
}
