// SPDX-License-Identifier: BSD-3-Clause
// usage: large [ROUNDS]    Large copies of page-locked and of ordinary memory, of odd sizes and
//                          places, one by one and queued, in both directions and in both at once.
#include "tests/programs/driver.h"

enum { WORDS = (9 << 20) / 4 + 1237, HALF = (WORDS / 2) * 4, SIZE = WORDS * 4 };

static void fill(uint32_t *words, uint32_t seed)
{
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i * 2654435761u + seed;
}

static unsigned differences(const uint32_t *words, uint32_t seed)
{
    unsigned wrong = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        wrong += words[i] != i * 2654435761u + seed;
    return wrong;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
    unsigned single = 0, queued = 0, ordinary = 0, both = 0;
    struct gpu gpu = open_gpu(0);
    CUstream streams[2];
    CUdeviceptr device = device_alloc(SIZE), other = device_alloc(SIZE);
    uint32_t *in, *out, *heap = must_alloc(SIZE);
    CHECK(cuMemAllocHost((void **)&in, SIZE));
    CHECK(cuMemAllocHost((void **)&out, SIZE));
    for (int i = 0; i < 2; i++)
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (uint32_t round = 0; round < rounds; round++) {
        fill(in, round);
        memset(out, 0x5A, SIZE);
        CHECK(cuMemcpyHtoDAsync(device, in, SIZE, streams[0]));
        CHECK(cuStreamSynchronize(streams[0]));
        CHECK(cuMemcpyDtoHAsync(out, device, SIZE, streams[0]));
        CHECK(cuStreamSynchronize(streams[0]));
        single += differences(out, round);

        fill(in, ~round);
        CHECK(cuMemcpyHtoDAsync(device, in, HALF, streams[0]));
        CHECK(cuMemcpyHtoDAsync(device + HALF, (char *)in + HALF, SIZE - HALF, streams[0]));
        CHECK(cuMemcpyDtoHAsync((char *)out + HALF, device + HALF, SIZE - HALF, streams[0]));
        CHECK(cuMemcpyDtoHAsync(out, device, HALF, streams[0]));
        CHECK(cuStreamSynchronize(streams[0]));
        queued += differences(out, ~round);

        fill(heap, round + 7);
        CHECK(cuMemcpyHtoD(other, heap, SIZE));
        memset(heap, 0x5A, SIZE);
        CHECK(cuMemcpyDtoH(heap, other, SIZE));
        ordinary += differences(heap, round + 7);

        CHECK(cuMemcpyHtoDAsync(other, in, SIZE, streams[0]));
        CHECK(cuMemcpyDtoHAsync(out, device, SIZE, streams[1]));
        CHECK(cuCtxSynchronize());
        both += differences(out, ~round);
        CHECK(cuMemcpyDtoH(heap, other, SIZE));
        both += differences(heap, ~round);
    }
    is_int(single, 0, "page-locked memory there and back");
    is_int(queued, 0, "copies that are queued");
    is_int(ordinary, 0, "ordinary memory");
    is_int(both, 0, "both directions at once");
    for (int i = 0; i < 2; i++)
        CHECK(cuStreamDestroy(streams[i]));
    CHECK(cuMemFreeHost(in));
    CHECK(cuMemFreeHost(out));
    CHECK(cuMemFree(device));
    CHECK(cuMemFree(other));
    free(heap);
    close_gpu(&gpu);
    return done();
}
