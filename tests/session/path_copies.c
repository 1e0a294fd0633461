// SPDX-License-Identifier: BSD-3-Clause
// Makes many copies of one size, with a wait for each and for several, between ordinary and
// page-locked memory and the GPU, and checks all data.
#include <stdlib.h>

#include "tests/programs/driver.h"

enum { SIZE = 4096, COPIES = 3000, ROWS = 300, ROW = 8 };

static CUdeviceptr device;
static uint8_t *to, *from;

static void look(unsigned round)
{
    for (size_t i = 0; i < SIZE; i++)
        if (from[i] != (uint8_t)(i + round))
            bail("byte %zu of copy %u is %u", i, round, from[i]);
}

static void fill(unsigned round)
{
    for (size_t i = 0; i < SIZE; i++)
        to[i] = (uint8_t)(i + round);
}

static void copies(CUstream stream)
{
    for (unsigned round = 0; round < COPIES; round++) {
        fill(round);
        CHECK(cuMemcpyHtoDAsync(device, to, SIZE, stream));
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuMemcpyDtoH(from, device, SIZE));
        look(round);
    }
    for (unsigned round = 0; round < ROWS; round++) {
        for (unsigned i = 0; i < ROW; i++) {
            fill(round + i);
            CHECK(cuMemcpyHtoDAsync(device, to, SIZE, stream));
            if (round % 2)
                CHECK(cuStreamSynchronize(stream));
        }
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuMemcpyDtoH(from, device, SIZE));
        look(round + ROW - 1);
    }
}

int main(void)
{
    CUstream stream;

    open_gpu(0);
    CHECK(cuMemAlloc(&device, SIZE));
    CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    to = malloc(SIZE);
    from = malloc(SIZE);
    if (!to || !from)
        bail("no memory");
    copies(stream);
    pass("copies of ordinary memory");
    CHECK(cuMemHostAlloc((void **)&from, SIZE, 0));
    copies(stream);
    pass("and to page-locked memory");
    return done();
}
