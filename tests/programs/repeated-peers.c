// SPDX-License-Identifier: BSD-3-Clause
// usage: repeated-peers [BYTES [COUNT [FROM]]]
//
// Copies of one size between two devices, enough of each kind that their times decide the path:
// from device FROM, or both ways, in a stream of either, one by one, and several at a time.
#include "tests/programs/driver.h"

enum { STREAMS = 4 };

static struct gpu gpu[2];
static CUstream streams[2][STREAMS];
static CUdeviceptr memory[2][STREAMS];
static size_t size;

static void on(int device)
{
    CHECK(cuCtxSetCurrent(gpu[device].context));
}

// COUNT copies at once in streams of device WITH; whether all of their bytes have come.
static bool copy(int from, int with, unsigned count, unsigned char byte)
{
    unsigned char *host = malloc(size);
    bool right = host != NULL;

    for (unsigned i = 0; i < count; i++) {
        on(from);
        CHECK(cuMemsetD8(memory[from][i], (unsigned char)(byte + i), size));
        on(!from);
        CHECK(cuMemsetD8(memory[!from][i], 0, size));
        CHECK(cuCtxSynchronize());
    }
    on(from);
    CHECK(cuCtxSynchronize());
    on(with);
    for (unsigned i = 0; i < count; i++)
        CHECK(cuMemcpyPeerAsync(memory[!from][i], gpu[!from].context, memory[from][i],
                                gpu[from].context, size, streams[with][i]));
    for (unsigned i = 0; i < count; i++)
        CHECK(cuStreamSynchronize(streams[with][i]));
    on(!from);
    for (unsigned i = 0; right && i < count; i++) {
        CHECK(cuMemcpyDtoH(host, memory[!from][i], size));
        right = host[0] == (unsigned char)(byte + i) && !memcmp(host, host + 1, size - 1);
    }
    free(host);
    return right;
}

static void open_all(void)
{
    need_two_devices();
    for (int d = 0; d < 2; d++) {
        gpu[d] = open_gpu(d);
        for (int i = 0; i < STREAMS; i++) {
            CHECK(cuStreamCreate(&streams[d][i], CU_STREAM_NON_BLOCKING));
            memory[d][i] = device_alloc(size);
        }
    }
}

int main(int argc, char **argv)
{
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 5;
    int only = argc > 3 ? atoi(argv[3]) : -1;
    unsigned wrong[4] = {0};

    size = argc > 1 ? strtoul(argv[1], NULL, 10) : 128 << 10;
    open_all();
    for (unsigned i = 0; i < count; i++)
        for (int kind = 0; kind < 4; kind++)
            if (only < 0 || only == kind / 2)
                wrong[kind] +=
                    !copy(kind / 2, kind % 2, i % 8 == 7 ? STREAMS : 1, (unsigned char)(i * 8 + 1));
    for (int kind = 0; kind < 4; kind++)
        is_int(wrong[kind], 0, "all bytes come from device %d, in streams of device %d", kind / 2,
               kind % 2);
    for (int d = 0; d < 2; d++) {
        on(d);
        for (int i = 0; i < STREAMS; i++) {
            CHECK(cuStreamDestroy(streams[d][i]));
            CHECK(cuMemFree(memory[d][i]));
        }
        close_gpu(&gpu[d]);
    }
    return done();
}
