// SPDX-License-Identifier: BSD-3-Clause
// Memory that is freed in stream order, after copies that are still in progress or have not begun:
// the copies see its contents unchanged, and the next owner of the memory does not disturb them.
#include "tests/programs/driver.h"

#include <unistd.h>

enum { SIZE = 9 << 20, ROUNDS = 6 };

static struct gpu gpu;
static CUstream stream, other;
static unsigned char *host;

static bool all(unsigned char value)
{
    for (size_t i = 0; i < SIZE; i++)
        if (host[i] != value)
            return false;
    return true;
}

// Held rounds have the stream come to its work when all of it has been asked for.
static struct hold begin(bool held)
{
    return held ? hold_stream(&gpu, stream) : (struct hold){0};
}

static void end(struct hold *hold)
{
    if (hold->release)
        hold_release(hold);
    CHECK(cuStreamSynchronize(stream));
}

static bool copied_from(bool held, unsigned char value)
{
    CUdeviceptr memory, next;
    CHECK(cuMemAllocAsync(&memory, SIZE, stream));
    struct hold hold = begin(held);
    CHECK(cuMemsetD8Async(memory, value, SIZE, stream));
    CHECK(cuMemcpyDtoHAsync(host, memory, SIZE, stream));
    CHECK(cuMemFreeAsync(memory, stream));
    CHECK(cuMemAllocAsync(&next, SIZE, other));
    CHECK(cuMemsetD8Async(next, 99, SIZE, other));
    end(&hold);
    CHECK(cuMemFreeAsync(next, other));
    CHECK(cuStreamSynchronize(other));
    return all(value);
}

static bool copied_to(bool held, unsigned char value)
{
    CUdeviceptr memory, keep = device_alloc(SIZE);
    CHECK(cuMemAllocAsync(&memory, SIZE, stream));
    struct hold hold = begin(held);
    memset(host, value, SIZE);
    CHECK(cuMemcpyHtoDAsync(memory, host, SIZE, stream));
    CHECK(cuMemcpyDtoDAsync(keep, memory, SIZE, stream));
    CHECK(cuMemFreeAsync(memory, stream));
    end(&hold);
    memset(host, 0, SIZE);
    CHECK(cuMemcpyDtoH(host, keep, SIZE));
    CHECK(cuMemFree(keep));
    return all(value);
}

// Memory of cuMemAlloc may be freed in the order of a stream, too.
static bool ordinary(bool held, unsigned char value)
{
    CUdeviceptr memory = device_alloc(SIZE);
    struct hold hold = begin(held);
    CHECK(cuMemsetD8Async(memory, value, SIZE, stream));
    CHECK(cuMemcpyDtoHAsync(host, memory, SIZE, stream));
    CHECK(cuMemFreeAsync(memory, stream));
    end(&hold);
    return all(value);
}

// The memory is free soon after the stream has come to its free, but not at once.
static bool becomes(size_t wanted)
{
    size_t available = 0, total;
    for (int i = 0; i < 1000 && available < wanted; i++) {
        CHECK(cuMemGetInfo(&available, &total));
        usleep(10000);
    }
    return available >= wanted;
}

int main(void)
{
    int from = 0, to = 0, plain = 0;
    size_t before, total;
    gpu = open_gpu(0);
    if (!device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
        skip_all("the device says that it has no memory pools");
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemHostAlloc((void **)&host, SIZE, 0));
    for (int round = 0; round < ROUNDS; round++) {
        from += copied_from(round % 2, (unsigned char)(40 + round));
        to += copied_to(round % 2, (unsigned char)(60 + round));
    }
    CHECK(cuMemGetInfo(&before, &total));
    for (int round = 0; round < 4 * ROUNDS; round++)
        plain += ordinary(round % 2, (unsigned char)(80 + round));
    is_int(from, ROUNDS, "what was copied from it came");
    is_int(to, ROUNDS, "and what was copied to it went on");
    is_int(plain, 4 * ROUNDS, "ordinary memory is freed in a stream's order, after its copies");
    // Other processes take memory meanwhile, such as the context of the box's next worker.
    ok(becomes(before - 2 * ROUNDS * (size_t)SIZE), "and is free then");
    CHECK(cuMemFreeHost(host));
    return done();
}
