// SPDX-License-Identifier: BSD-3-Clause
// Measures how long a notified put takes one way, between two members that notify each other by
// turns. usage: notify [ROUNDS [one]]. It measures streams and kernels, without data, with 4 bytes
// and with more. The members are on two GPUs, or on one.
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "client-lib/putnotify/rgpu.h"
#include "tests/programs/driver.h"

enum { BYTES = 1 << 20, STREAM_ROUNDS_MAX = 1000 };

__asm__(".pushsection .rodata\n"
        "notify_ptx: .incbin \"bench/notify.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char notify_ptx[] __attribute__((visibility("hidden")));

static struct gpu gpus[2];
static CUstream streams[2];
static CUmodule modules[2];
static CUfunction functions[2];
static CUdeviceptr memory[2], source[2], handles[2];
static struct rgpu_team *team;
static struct rgpu_window *window;

#define TEAM(call) must_succeed((call), #call)
static void must_succeed(enum rgpu_result result, const char *text)
{
    if (!result)
        return;
    printf("# %s gave %d: %s\n", text, (int)result, rgpu_error_text());
    exit(1);
}

static void open_member(int member, int device)
{
    gpus[member] = open_gpu(device);
    CHECK(cuStreamCreate(&streams[member], CU_STREAM_NON_BLOCKING));
    memory[member] = device_alloc(BYTES);
    source[member] = device_alloc(BYTES);
    CHECK(cuMemsetD8(source[member], 1, BYTES));
    CHECK(cuCtxSynchronize());
    CHECK(cuModuleLoadData(&modules[member], notify_ptx));
    CHECK(cuModuleGetFunction(&functions[member], modules[member], "ping_pong"));
}

static void open_all(bool one)
{
    size_t sizes[2] = {BYTES, BYTES};
    int count = 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    for (int i = 0; i < 2; i++)
        open_member(i, one || count < 2 ? 0 : i);
    TEAM(rgpu_team_create(&team, (CUcontext[]){gpus[0].context, gpus[1].context}, 2));
    TEAM(rgpu_window_register(team, memory, sizes, 1, &window));
}

static void synchronize(void)
{
    for (int i = 0; i < 2; i++) {
        CHECK(cuCtxSetCurrent(gpus[i].context));
        CHECK(cuStreamSynchronize(streams[i]));
    }
}

static void by_streams(unsigned int bytes, unsigned int rounds)
{
    for (unsigned int i = 0; i < rounds; i++)
        for (int from = 0; from < 2; from++) {
            TEAM(rgpu_put_signal_async(window, from, !from, 0, source[from], bytes, 0,
                                       streams[from]));
            TEAM(rgpu_signal_wait_async(window, !from, from, 0, 1, streams[!from]));
        }
}

static void by_kernels(unsigned int bytes, unsigned int rounds)
{
    for (int i = 0; i < 2; i++) {
        void *parameters[] = {&handles[i], &source[i], &bytes, &rounds};
        CHECK(cuCtxSetCurrent(gpus[i].context));
        CHECK(
            cuLaunchCooperativeKernel(functions[i], 1, 1, 1, 128, 1, 1, 0, streams[i], parameters));
    }
}

static void measure(const char *what, void (*run)(unsigned int, unsigned int), unsigned int bytes,
                    unsigned int rounds)
{
    run(bytes, rounds < 10 ? rounds : 10);
    synchronize();
    uint64_t start = clock_ns();
    run(bytes, rounds);
    synchronize();
    printf("%s bytes=%u rounds=%u one_way_us=%.2f\n", what, bytes, rounds,
           (double)(clock_ns() - start) / 1e3 / rounds / 2);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const unsigned int sizes[] = {0, 4, 4096, BYTES};
    unsigned int rounds = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 1000;
    open_all(argc > 2 && !strcmp(argv[2], "one"));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        measure("streams", by_streams, sizes[i],
                rounds < STREAM_ROUNDS_MAX ? rounds : STREAM_ROUNDS_MAX);
    if (rgpu_window_open_device(window, 1, handles))
        printf("kernels: %s\n", rgpu_error_text());
    else
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
            measure("kernels", by_kernels, sizes[i], sizes[i] < BYTES ? rounds : rounds / 10 + 1);
    TEAM(rgpu_team_check(team));
    TEAM(rgpu_window_free(&window));
    rgpu_team_destroy(&team);
    return 0;
}
