// SPDX-License-Identifier: BSD-3-Clause
// Random allocations, copies and frees in the order of several streams; most copies are from and to
// pageable memory. The bytes read must match a model, even if copies are still in progress when
// memory is freed and allocated again. usage: freed-random [SEED [STEPS]]
#include "tests/programs/driver.h"

enum { STREAMS = 3, SLOTS = 12, LARGEST = 3 << 20, PINNED_READS = 8 };

struct slot {
    CUdeviceptr memory; // 0: none
    size_t size;
    int stream; // in whose order it is used now
    bool plain; // cuMemAlloc's
    unsigned char *model;
};

// A read into page-locked memory, to be compared when its stream has been waited for.
struct late_read {
    unsigned char *got, *expected;
    size_t size; // 0: none
    int stream;
};

static struct gpu gpu;
static CUstream streams[STREAMS];
static CUevent event;
static struct slot slots[SLOTS];
static struct late_read reads[PINNED_READS];
static unsigned char *host;
static uint64_t state;
static unsigned wrong, compared;

static unsigned pick(unsigned below)
{
    return random_u32(&state) % below;
}

static void compare(const void *got, const void *expected, size_t size)
{
    compared++;
    if (!memcmp(got, expected, size))
        return;
    if (!wrong++)
        diag("a read of %zu bytes is not what the model says", size);
}

static size_t some_size(void)
{
    static const size_t limits[] = {64, 4096, 64 << 10, 1 << 20, LARGEST};
    return 1 + pick((unsigned)limits[pick(5)]);
}

static void allocate(struct slot *slot)
{
    slot->size = some_size();
    slot->stream = (int)pick(STREAMS);
    slot->plain = !pick(6);
    if (slot->plain)
        CHECK(cuMemAlloc(&slot->memory, slot->size));
    else
        CHECK(cuMemAllocAsync(&slot->memory, slot->size, streams[slot->stream]));
    unsigned value = pick(256);
    CHECK(cuMemsetD8Async(slot->memory, (unsigned char)value, slot->size, streams[slot->stream]));
    memset(slot->model, (int)value, slot->size);
}

// cuMemFree waits for the pending work; memory of pools is freed in stream order.
static void release(struct slot *slot)
{
    if (slot->plain)
        CHECK(cuMemFree(slot->memory));
    else
        CHECK(cuMemFreeAsync(slot->memory, streams[slot->stream]));
    slot->memory = 0;
}

static void settle(int stream)
{
    CHECK(cuStreamSynchronize(streams[stream]));
    for (unsigned i = 0; i < PINNED_READS; i++)
        if (reads[i].size && reads[i].stream == stream) {
            compare(reads[i].got, reads[i].expected, reads[i].size);
            reads[i].size = 0;
        }
}

// Writes to freed memory, which must have no effect.
static void write_part(struct slot *slot)
{
    size_t at = pick((unsigned)slot->size), size = 1 + pick((unsigned)(slot->size - at));
    fill_random(host, size, state);
    memcpy(slot->model + at, host, size);
    CHECK(cuMemcpyHtoDAsync(slot->memory + at, host, size, streams[slot->stream]));
    memset(host, 0xee, size);
}

static void read_part(const struct slot *slot)
{
    size_t at = pick((unsigned)slot->size), size = 1 + pick((unsigned)(slot->size - at));
    CHECK(cuMemcpyDtoHAsync(host, slot->memory + at, size, streams[slot->stream]));
    settle(slot->stream);
    compare(host, slot->model + at, size);
}

static void read_late(const struct slot *slot)
{
    struct late_read *read = &reads[pick(PINNED_READS)];
    if (read->size)
        settle(read->stream);
    read->size = slot->size;
    read->stream = slot->stream;
    memcpy(read->expected, slot->model, slot->size);
    CHECK(cuMemcpyDtoHAsync(read->got, slot->memory, slot->size, streams[slot->stream]));
}

static void pass_on(struct slot *slot, int to)
{
    CHECK(cuEventRecord(event, streams[slot->stream]));
    CHECK(cuStreamWaitEvent(streams[to], event, 0));
    slot->stream = to;
}

static void copy_between(struct slot *from, struct slot *to)
{
    size_t size = from->size < to->size ? from->size : to->size;
    if (!to->memory || from == to)
        return;
    pass_on(from, to->stream);
    CHECK(cuMemcpyDtoDAsync(to->memory, from->memory, size, streams[to->stream]));
    memcpy(to->model, from->model, size);
}

static void step(void)
{
    struct slot *slot = &slots[pick(SLOTS)];
    if (!slot->memory) {
        allocate(slot);
        return;
    }
    switch (pick(10)) {
    case 0:
    case 1:
    case 2: write_part(slot); break;
    case 3:
    case 4:
        write_part(slot); // which is still on its way then

        release(slot);
        break;
    case 5: release(slot); break;
    case 6: read_part(slot); break;
    case 7: read_late(slot); break;
    case 8: pass_on(slot, (int)pick(STREAMS)); break;
    default: copy_between(slot, &slots[pick(SLOTS)]); break;
    }
}

int main(int argc, char **argv)
{
    int steps = argc > 2 ? atoi(argv[2]) : 400;
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    gpu = open_gpu(0);
    if (!device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
        skip_all("the device says that it has no memory pools");
    host = must_alloc(LARGEST);
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (unsigned i = 0; i < STREAMS; i++)
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < SLOTS; i++)
        slots[i].model = must_alloc(LARGEST);
    for (unsigned i = 0; i < PINNED_READS; i++) {
        CHECK(cuMemHostAlloc((void **)&reads[i].got, LARGEST, 0));
        reads[i].expected = must_alloc(LARGEST);
    }
    for (int i = 0; i < steps; i++)
        step();
    for (int i = 0; i < STREAMS; i++)
        settle(i);
    ok(compared > 0, "%u reads were compared", compared);
    is_int(wrong, 0, "and all of them are what the model says");
    return done();
}
