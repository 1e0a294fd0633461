// SPDX-License-Identifier: BSD-3-Clause
// Seeded random programs on managed memory that keep its rules. Host and GPUs write by turns, in
// several streams and threads, by stores, kernels, copies and fills; both must read the values of a
// model. Page-locked memory they also write at once, each its own bytes.
//
//     managed-random [FIRST-SEED [COUNT [managed|page-locked|registered|mixed]]]
#include "tests/programs/driver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    AREAS = 5,
    STREAMS = 3,
    STEPS = 40,
    AREA_USUAL = 900 * 1000,
    AREA_MAX = 7 * 1000 *
               1000, // of one in twenty, which goes by several threads and is brought ahead
    DEFAULT_COUNT = 60
};

enum kind { MANAGED, PAGE_LOCKED, REGISTERED, KINDS };

struct area {
    enum kind kind;
    uint8_t *memory;
    CUdeviceptr address; // of it on the GPU
    void *registered;    // what it is part of
    uint8_t *model;
    size_t size;
    int attached; // the only stream that uses it; -1: any
    int last;     // the stream whose work was the last on it; -1: none since it was waited for
};

static struct gpu gpu;
static CUfunction add;
static CUstream streams[STREAMS];
static CUevent marks[STREAMS];
static bool busy[STREAMS];
static struct area areas[AREAS];
static CUdeviceptr device_area;
static uint8_t *plain, *device_model;
static uint64_t seed;
static size_t wrong;
static const char *const kinds[] = {"managed", "page-locked", "registered", "mixed"};
static enum kind wanted; // KINDS: any

static uint32_t below(uint32_t limit)
{
    return random_u32(&seed) % limit;
}

// Small ones are frequent, and so are the edges of pages and chunks.
static size_t random_size(size_t most)
{
    static const size_t edges[] = {1, 4, 4096, 65536, 65537, 131072, 2 * 65536 + 4096};
    size_t size = below(3) ? 1 + below(below(4) ? 5000 : most) : edges[below(7)];
    return size < most ? size : most;
}

static void random_range(const struct area *area, size_t *first, size_t *size)
{
    *size = random_size(area->size);
    *first = *size < area->size ? below((uint32_t)(area->size - *size)) : 0;
}

static CUdeviceptr at(const struct area *area, size_t offset)
{
    return area->address + offset;
}

// ---- order ----

static void wait_for(int stream)
{
    if (below(3) == 0)
        CHECK(cuCtxSynchronize());
    else if (below(2))
        CHECK(cuStreamSynchronize(streams[stream]));
    else {
        CHECK(cuEventRecord(marks[stream], streams[stream]));
        CHECK(cuEventSynchronize(marks[stream]));
    }
    busy[stream] = false;
    for (int i = 0; i < AREAS; i++)
        if (areas[i].last == stream)
            areas[i].last = -1;
}

// Before the host touches an area: no GPU works that may touch it.
static void settle(const struct area *area)
{
    for (int i = 0; i < STREAMS; i++)
        if (busy[i] && (area->attached < 0 || area->attached == i))
            wait_for(i);
}

// Before work on it in a stream; which one.
static int enter(struct area *area, int stream)
{
    if (area->attached >= 0)
        stream = area->attached;
    if (area->last >= 0 && area->last != stream) {
        CHECK(cuEventRecord(marks[area->last], streams[area->last]));
        CHECK(cuStreamWaitEvent(streams[stream], marks[area->last], 0));
    }
    area->last = stream;
    busy[stream] = true;
    return stream;
}

// ---- steps ----

static void host_writes(struct area *area)
{
    size_t first, size, step = 1 + (below(3) ? 0 : below(200));
    random_range(area, &first, &size);
    settle(area);
    for (size_t i = first; i < first + size; i += step)
        area->memory[i] = area->model[i] = (uint8_t)random_u32(&seed);
}

static void host_reads(struct area *area)
{
    size_t first, size;
    random_range(area, &first, &size);
    settle(area);
    wrong += memcmp(area->memory + first, area->model + first, size) != 0;
}

static void kernel_adds(struct area *area)
{
    size_t first, size;
    random_range(area, &first, &size);
    first &= ~(size_t)3;
    uint32_t count = (uint32_t)((size < 4 ? 4 : size) / 4), value = random_u32(&seed), word;
    if (first + 4 * (size_t)count > area->size)
        return;
    int stream = enter(area, (int)below(STREAMS));
    CUdeviceptr address = at(area, first);
    launch(add, 2, 64, streams[stream], &address, &value, &count);
    for (size_t i = first; i < first + 4 * (size_t)count; i += 4) {
        memcpy(&word, area->model + i, 4);
        word += value;
        memcpy(area->model + i, &word, 4);
    }
}

static void fill(struct area *area)
{
    size_t first, size;
    random_range(area, &first, &size);
    uint8_t value = (uint8_t)random_u32(&seed);
    int stream = enter(area, (int)below(STREAMS));
    CHECK(cuMemsetD8Async(at(area, first), value, size, streams[stream]));
    memset(area->model + first, value, size);
}

// The GPU writes every second byte, and the host those between while it may not have come to that
// yet.
static void both_write(struct area *area)
{
    size_t first, size;
    random_range(area, &first, &size);
    if (area->kind == MANAGED || size < 2)
        return;
    settle(area);
    uint8_t value = (uint8_t)random_u32(&seed);
    int stream = enter(area, (int)below(STREAMS));
    CHECK(cuMemsetD2D8Async(at(area, first), 2, value, 1, size / 2, streams[stream]));
    for (size_t i = first; i < first + size / 2 * 2; i += 2)
        area->model[i] = value;
    for (size_t i = first + 1; i < first + size; i += 2)
        area->memory[i] = area->model[i] = (uint8_t)random_u32(&seed);
}

// From and to memory of the host that is not managed, which this waits for.
static void copy_plain(struct area *area)
{
    size_t first, size;
    random_range(area, &first, &size);
    bool asynchronous = below(2);
    int stream = enter(area, (int)below(STREAMS));
    if (below(2)) {
        fill_random(plain, size, random_u32(&seed));
        if (asynchronous)
            CHECK(cuMemcpyHtoDAsync(at(area, first), plain, size, streams[stream]));
        else
            CHECK(cuMemcpyAsync(at(area, first), (CUdeviceptr)(uintptr_t)plain, size,
                                streams[stream]));
        memcpy(area->model + first, plain, size);
    } else {
        CHECK(cuMemcpyDtoHAsync(plain, at(area, first), size, streams[stream]));
        CHECK(cuStreamSynchronize(streams[stream]));
        wrong += memcmp(plain, area->model + first, size) != 0;
    }
    wait_for(stream);
}

// To and from memory of the GPU alone; managed memory is sometimes called the host's.
static void copy_device(struct area *area)
{
    size_t first, size;
    random_range(area, &first, &size);
    bool as_host = below(2);
    int stream = enter(area, (int)below(STREAMS));
    if (below(2)) {
        if (as_host)
            CHECK(cuMemcpyDtoHAsync(area->memory + first, device_area, size, streams[stream]));
        else
            CHECK(cuMemcpyDtoDAsync(at(area, first), device_area, size, streams[stream]));
        memcpy(area->model + first, device_model, size);
    } else {
        if (as_host)
            CHECK(cuMemcpyHtoDAsync(device_area, area->memory + first, size, streams[stream]));
        else
            CHECK(cuMemcpyAsync(device_area, at(area, first), size, streams[stream]));
        memcpy(device_model, area->model + first, size);
    }
    wait_for(stream); // others use the device's area in their streams
}

static void copy_between(struct area *area)
{
    struct area *from = &areas[below(AREAS)];
    size_t size = random_size(area->size < from->size ? area->size : from->size);
    if (from == area ||
        (from->attached >= 0 && area->attached >= 0 && from->attached != area->attached))
        return;
    int stream = enter(area, from->attached >= 0 ? from->attached : (int)below(STREAMS));
    enter(from, stream);
    if (below(2)) {
        CHECK(cuMemcpyAsync(at(area, 0), at(from, 0), size, streams[stream]));
        memcpy(area->model, from->model, size);
        return;
    }
    size_t width = 1 + size / 8;
    CUDA_MEMCPY2D rows = {.srcMemoryType = below(2) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                          .srcHost = from->memory,
                          .srcDevice = at(from, 0),
                          .srcPitch = width,
                          .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .dstDevice = at(area, 0),
                          .dstPitch = width,
                          .WidthInBytes = width - width / 3,
                          .Height = size / width};
    if (!rows.Height)
        return;
    CHECK(cuMemcpy2DAsync(&rows, streams[stream]));
    for (size_t y = 0; y < rows.Height; y++)
        memcpy(area->model + y * width, from->model + y * width, rows.WidthInBytes);
}

struct part {
    struct area *area;
    size_t first, step;
    uint64_t seed;
    size_t wrong;
};

static void *use_part(void *argument)
{
    struct part *part = argument;
    struct area *area = part->area;
    for (size_t i = part->first; i < area->size; i += part->step) {
        part->wrong += area->memory[i] != area->model[i];
        area->memory[i] = area->model[i] = (uint8_t)random_u32(&part->seed);
    }
    return NULL;
}

// Bytes next to each other belong to different threads.
static void threads_use(struct area *area)
{
    enum { THREADS = 3 };
    struct part parts[THREADS];
    pthread_t threads[THREADS];
    settle(area);
    for (int i = 0; i < THREADS; i++) {
        parts[i] = (struct part){area, (size_t)i, below(2) ? THREADS : THREADS * 1001,
                                 random_u32(&seed) + 1ULL, 0};
        parts[i].step = parts[0].step;
        pthread_create(&threads[i], NULL, use_part, &parts[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += parts[i].wrong;
    }
}

static void take_memory(struct area *area)
{
    if (area->kind == MANAGED) {
        CHECK(cuMemAllocManaged(&area->address, area->size,
                                below(3) ? CU_MEM_ATTACH_GLOBAL : CU_MEM_ATTACH_HOST));
        area->memory = (uint8_t *)(uintptr_t)area->address;
        return;
    }
    if (area->kind == PAGE_LOCKED) {
        CHECK(cuMemHostAlloc((void **)&area->memory, area->size, CU_MEMHOSTALLOC_DEVICEMAP));
    } else {
        area->registered = must_alloc(area->size + 64);
        area->memory = (uint8_t *)area->registered + 4 * below(16);
        CHECK(cuMemHostRegister(area->memory, area->size, CU_MEMHOSTREGISTER_DEVICEMAP));
    }
    CHECK(cuMemHostGetDevicePointer(&area->address, area->memory, 0));
}

static void give_memory(struct area *area)
{
    if (area->kind == MANAGED)
        CHECK(cuMemFree(area->address));
    else if (area->kind == PAGE_LOCKED)
        CHECK(cuMemFreeHost(area->memory));
    else
        CHECK(cuMemHostUnregister(area->memory));
    free(area->registered);
    area->registered = NULL;
}

static void begin_area(struct area *area)
{
    area->size = random_size(below(20) ? AREA_USUAL : AREA_MAX) + below(64);
    area->kind = wanted < KINDS ? wanted : (enum kind)below(KINDS);
    take_memory(area);
    area->attached = area->last = -1;
    settle(area);
    // Earlier memory at this address may have left data.
    memset(area->memory, 0, area->size);
    memset(area->model, 0, area->size);
    if (below(3) || area->kind != MANAGED)
        return;
    area->attached = (int)below(STREAMS);
    CHECK(cuStreamAttachMemAsync(streams[area->attached], area->address, 0, CU_MEM_ATTACH_SINGLE));
    CHECK(cuStreamSynchronize(streams[area->attached]));
}

static void end_area(struct area *area)
{
    settle(area);
    give_memory(area);
}

static void begin_again(struct area *area)
{
    end_area(area);
    begin_area(area);
}

static void step(void)
{
    static void (*const steps[])(struct area *) = {
        host_writes, host_writes, host_reads,  host_reads,  kernel_adds,  kernel_adds, kernel_adds,
        fill,        copy_plain,  copy_device, threads_use, copy_between, begin_again, both_write};
    steps[below(sizeof(steps) / sizeof(steps[0]))](&areas[below(AREAS)]);
}

static bool passes(uint64_t number)
{
    seed = number * 0x9E3779B97F4A7C15ULL + 1;
    wrong = 0;
    for (int i = 0; i < AREAS; i++)
        begin_area(&areas[i]);
    for (int i = 0; i < STEPS && !wrong; i++)
        step();
    for (int i = 0; i < AREAS; i++) {
        settle(&areas[i]);
        wrong += memcmp(areas[i].memory, areas[i].model, areas[i].size) != 0;
        end_area(&areas[i]);
    }
    if (wrong)
        diag("seed %llu: memory differs from the model", (unsigned long long)number);
    return !wrong;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : DEFAULT_COUNT, failed = 0;
    while (argc > 3 && wanted <= KINDS && strcmp(kinds[wanted], argv[3]) != 0)
        wanted++;
    if (wanted > KINDS)
        bail("no such kind of memory");
    gpu = open_gpu(0);
    void *probe = must_alloc(4096);
    if (wanted != MANAGED &&
        (!device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY) ||
         cuMemHostRegister(probe, 4096, CU_MEMHOSTREGISTER_DEVICEMAP) != CUDA_SUCCESS))
        skip_all("kernels do not get memory of this kind here");
    if (wanted != MANAGED)
        CHECK(cuMemHostUnregister(probe));
    free(probe);
    add = kernel(&gpu, "add");
    for (int i = 0; i < STREAMS; i++) {
        CHECK(cuStreamCreate(&streams[i], i ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
        CHECK(cuEventCreate(&marks[i], CU_EVENT_DISABLE_TIMING));
    }
    for (int i = 0; i < AREAS; i++)
        areas[i].model = must_alloc(AREA_MAX + 64);
    plain = must_alloc(AREA_MAX + 64);
    device_model = calloc(1, AREA_MAX + 64);
    device_area = device_alloc(AREA_MAX + 64);
    CHECK(cuMemsetD8(device_area, 0, AREA_MAX + 64));
    CHECK(cuCtxSynchronize());
    for (uint64_t i = 0; i < count; i++)
        failed += !passes(first + i);
    is_int((int64_t)failed, 0, "%llu random programs agree with the model",
           (unsigned long long)count);
    close_gpu(&gpu);
    return done();
}
