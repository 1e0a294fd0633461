// SPDX-License-Identifier: BSD-3-Clause
// usage: copies [LARGEST-MIB]
//
// Linear copies of every size class, from 0 bytes to 33 MiB with odd sizes and all alignments,
// pageable and pinned, synchronous and asynchronous; bytes around the destination stay as they
// were.
#include "tests/programs/driver.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define LARGEST (33 * MIB + 7)
#define MARGIN 8192ull

static const size_t sizes[] = {
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    15,
    16,
    31,
    63,
    64,
    65,
    127,
    255,
    256,
    257,
    1000,
    1023,
    4095,
    4096,
    4097,
    16 * KIB - 1,
    16 * KIB,
    64 * KIB - 1,
    64 * KIB,
    64 * KIB + 1,
    100003,
    256 * KIB + 5,
    512 * KIB - 1,
    512 * KIB,
    512 * KIB + 1,
    MIB,
    MIB + 3,
    2 * MIB - 1,
    4 * MIB + 1,
    8 * MIB + 5,
    16 * MIB - 3,
    LARGEST,
};
static const size_t alignments[] = {0, 1, 2, 3, 7, 8, 16, 63, 64, 100, 4095};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static size_t largest = LARGEST;

struct buffers {
    unsigned char *from, *to; // host
    CUdeviceptr first, second;
    CUstream stream;
    bool asynchronous;
};

static void copy(const struct buffers *b, size_t from, size_t to, size_t size)
{
    if (b->asynchronous) {
        CHECK(cuMemcpyHtoDAsync(b->first + to, b->from + from, size, b->stream));
        CHECK(cuMemcpyDtoDAsync(b->second + from, b->first + to, size, b->stream));
        CHECK(cuMemcpyDtoHAsync(b->to + to, b->second + from, size, b->stream));
        CHECK(cuStreamSynchronize(b->stream));
    } else {
        CHECK(cuMemcpyHtoD(b->first + to, b->from + from, size));
        CHECK(cuMemcpyDtoD(b->second + from, b->first + to, size));
        CHECK(cuMemcpyDtoH(b->to + to, b->second + from, size));
    }
}

static bool guarded(const unsigned char *memory, size_t at, size_t size)
{
    for (size_t i = at > 64 ? at - 64 : 0; i < at; i++)
        if (memory[i] != 0xA5)
            return false;
    for (size_t i = at + size; i < at + size + 64; i++)
        if (memory[i] != 0xA5)
            return false;
    return true;
}

static unsigned one_size(const struct buffers *b, size_t size, unsigned *made)
{
    unsigned wrong = 0;
    size_t step = size < 64 * KIB ? 1 : size < 2 * MIB ? 5 : 10;
    for (size_t i = 0; i < COUNT(alignments); i += step)
        for (size_t j = 0; j < COUNT(alignments); j += step) {
            size_t from = alignments[i], to = alignments[j];
            size_t around = to > 64 ? to - 64 : 0;
            if (size >= 8 * MIB && i != j)
                continue;
            memset(b->to + around, 0xA5, to - around + size + 64);
            copy(b, from, to, size);
            bool right = !memcmp(b->to + to, b->from + from, size) && guarded(b->to, to, size);
            if (!right && wrong++ < 3)
                diag("size %zu, from offset %zu to offset %zu", size, from, to);
            ++*made;
        }
    return wrong;
}

static void all_sizes(struct buffers *b, const char *what)
{
    unsigned wrong = 0, made = 0;
    for (size_t i = 0; i < COUNT(sizes) && sizes[i] <= largest; i++) {
        fill_random(b->from, sizes[i] + 4096 < LARGEST ? sizes[i] + 4096 : LARGEST, i);
        wrong += one_size(b, sizes[i], &made);
    }
    is_int(wrong, 0, "%s, %s: %u copies there and back", what,
           b->asynchronous ? "asynchronous" : "synchronous", made);
}

int main(int argc, char **argv)
{
    struct gpu gpu = open_gpu(0);
    struct buffers b;
    if (argc > 1)
        largest = (size_t)atoi(argv[1]) * MIB;
    CHECK(cuStreamCreate(&b.stream, CU_STREAM_NON_BLOCKING));
    b.first = device_alloc(LARGEST + MARGIN);
    b.second = device_alloc(LARGEST + MARGIN);

    b.from = must_alloc(LARGEST + MARGIN);
    b.to = must_alloc(LARGEST + MARGIN);
    for (b.asynchronous = false;; b.asynchronous = true) {
        all_sizes(&b, "pageable memory");
        if (b.asynchronous)
            break;
    }
    free(b.from);
    free(b.to);

    CHECK(cuMemAllocHost((void **)&b.from, LARGEST + MARGIN));
    CHECK(cuMemAllocHost((void **)&b.to, LARGEST + MARGIN));
    for (b.asynchronous = false;; b.asynchronous = true) {
        all_sizes(&b, "pinned memory");
        if (b.asynchronous)
            break;
    }

    gives(cuMemcpyHtoD(b.first, b.from, 0), CUDA_SUCCESS, "copying nothing succeeds");
    memset(b.to, 0, 1000);
    CHECK(cuMemcpy((CUdeviceptr)b.to, (CUdeviceptr)b.from, 1000));
    ok(!memcmp(b.to, b.from, 1000), "cuMemcpy finds out that both sides are host memory");
    CHECK(cuMemcpy(b.first, (CUdeviceptr)b.from, 1000));
    memset(b.to, 0, 1000);
    CHECK(cuMemcpyAsync((CUdeviceptr)b.to, b.first, 1000, b.stream));
    CHECK(cuStreamSynchronize(b.stream));
    ok(!memcmp(b.to, b.from, 1000), "and which side is the device's");

    CHECK(cuMemFreeHost(b.from));
    CHECK(cuMemFreeHost(b.to));
    CHECK(cuMemFree(b.first));
    CHECK(cuMemFree(b.second));
    CHECK(cuStreamDestroy(b.stream));
    close_gpu(&gpu);
    return done();
}
