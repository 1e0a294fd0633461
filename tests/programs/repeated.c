// SPDX-License-Identifier: BSD-3-Clause
// usage: repeated [BYTES [COUNT]]
//
// Copies of one size to and from page-locked memory, enough of each kind that their times decide
// the path: one by one, and several at a time.
#include "tests/programs/driver.h"

enum { ROW = 8 };

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 128 << 10;
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 20, wrong = 0;
    struct gpu gpu = open_gpu(0);
    CUdeviceptr device = device_alloc(size);
    unsigned char *host;
    CUstream stream;

    CHECK(cuMemAllocHost((void **)&host, size));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < count; i++) {
        memset(host, (int)(i + 1), size);
        for (unsigned copies = i % 8 ? 1 : ROW; copies; copies--)
            CHECK(cuMemcpyHtoDAsync(device, host, size, stream));
        CHECK(cuStreamSynchronize(stream));
        memset(host, 0, size);
        for (unsigned copies = i % 8 ? 1 : ROW; copies; copies--)
            CHECK(cuMemcpyDtoHAsync(host, device, size, stream));
        CHECK(cuStreamSynchronize(stream));
        wrong += host[0] != (unsigned char)(i + 1) || memcmp(host, host + 1, size - 1) != 0;
    }
    is_int(wrong, 0, "all bytes of all copies are right");
    CHECK(cuMemFreeHost(host));
    CHECK(cuMemFree(device));
    close_gpu(&gpu);
    return done();
}
