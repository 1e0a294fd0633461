// SPDX-License-Identifier: BSD-3-Clause
// Tests kernels that put into windows of another box through its proxy queues: their correct use,
// and hostile put requests. usage: far [lost|wait]. With `lost` the script removes the other box
// while kernels wait for it; with `wait` they wait until the program is killed.
#include "client-lib/putnotify/rgpu_device.h"
#include "tests/team/teams.h"

enum { BLOCKS = 3, THREADS = 32, COUNT = 700, LARGE = 5 << 19, GUARD = 256 };

__asm__(".pushsection .rodata\n"
        "far_ptx: .incbin \"tests/team/far.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char far_ptx[] __attribute__((visibility("hidden")));

static CUmodule modules[2];
static CUdeviceptr handles[2], results[2];
static struct area area; // in the middle of its memory

static void start_kernel(int member, const char *name, void **parameters)
{
    CUfunction function;
    on(member);
    CHECK(cuModuleGetFunction(&function, modules[member], name));
    CHECK(cuLaunchCooperativeKernel(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, streams[member],
                                    parameters));
}

static uint32_t result_of(int member, int block)
{
    on(member);
    return word_at(results[member] + 4 * (size_t)block);
}

static void open_window(void)
{
    CUdeviceptr base[2];
    size_t size[2] = {LARGE, LARGE};
    for (int i = 0; i < 2; i++) {
        on(i);
        area.base[i] = device_alloc(LARGE + 2 * GUARD);
        base[i] = area.base[i] + GUARD;
        CHECK(cuMemsetD8(area.base[i], 0, LARGE + 2 * GUARD));
        results[i] = device_alloc(BLOCKS * 4);
        CHECK(cuMemsetD32(results[i], 77, BLOCKS));
        CHECK(cuCtxSynchronize());
        CHECK(cuModuleLoadData(&modules[i], far_ptx));
    }
    TEAM(rgpu_window_register(team, base, size, 2, &area.window));
    TEAM(rgpu_window_open_device(area.window, BLOCKS, handles));
}

static void many(void)
{
    CUdeviceptr source[2];
    uint32_t count = COUNT;
    for (int i = 0; i < 2; i++) {
        on(i);
        source[i] = device_alloc(BLOCKS * COUNT * 4);
        CHECK(cuMemsetD32(results[i], 0, BLOCKS));
    }
    for (int i = 0; i < 2; i++)
        start_kernel(i, "far_many", (void *[]){&handles[i], &source[i], &results[i], &count});
    synchronize_all();
    is_int(result_of(1, 0), 0, "more puts than a proxy queue has slots come, before their signals");
    for (int i = 0; i < 2; i++) {
        on(i);
        CHECK(cuMemFree(source[i]));
    }
}

static void put_large(uint64_t bytes, uint64_t at)
{
    uint8_t *want = malloc(bytes), *got = malloc(bytes);
    CUdeviceptr source;
    for (uint64_t i = 0; i < bytes; i++)
        want[i] = (uint8_t)(i * 7 + i / 251 + bytes);
    on(0);
    source = device_alloc(bytes);
    CHECK(cuMemcpyHtoD(source, want, bytes));
    for (int i = 0; i < 2; i++)
        start_kernel(i, "far_large", (void *[]){&handles[i], &source, &bytes, &at, &results[i]});
    synchronize_all();
    on(1);
    CHECK(cuMemcpyDtoH(got, area.base[1] + GUARD + at, bytes));
    ok(!memcmp(want, got, bytes) && !result_of(0, 0) && !result_of(1, 0), "%llu bytes come to %llu",
       (unsigned long long)bytes, (unsigned long long)at);
    on(0);
    CHECK(cuMemFree(source));
    free(want);
    free(got);
}

// Each is wrong in one way.
static const struct rgpu_device_put_request wrong[] = {
    {.rank = 2 * BLOCKS, .tag = 0},
    {.rank = UINT32_MAX, .tag = 0},
    {.rank = 0, .tag = 0}, // which is no other box's
    {.rank = BLOCKS, .tag = 2},
    {.rank = BLOCKS, .tag = INT32_MAX},
    {.rank = BLOCKS, .tag = INT32_MIN},
    {.rank = BLOCKS, .block = UINT32_MAX, .tag = -1},
    {.rank = BLOCKS, .tag = 0, .offset = LARGE - 3, .bytes = 4},
    {.rank = BLOCKS, .tag = 0, .offset = LARGE + 1},
    {.rank = BLOCKS, .tag = 0, .offset = UINT64_MAX - 1, .bytes = 4},
    {.rank = BLOCKS, .tag = 0, .offset = (uint64_t)0 - GUARD, .bytes = 32},
    {.rank = BLOCKS, .tag = 0, .offset = 0, .bytes = 64, .data = {0}},
    {.rank = BLOCKS, .tag = 0, .offset = 0, .bytes = 64, .data = {0x400000}},
    {.rank = BLOCKS, .tag = 0, .offset = 0, .bytes = UINT64_MAX, .data = {0x400000}},
};

static bool is_clear(int member, size_t at, size_t bytes)
{
    uint8_t *got = malloc(bytes);
    bool clear = true;
    on(member);
    CHECK(cuMemcpyDtoH(got, area.base[member] + at, bytes));
    for (size_t i = 0; i < bytes; i++)
        clear &= !got[i];
    free(got);
    return clear;
}

static void hostile(void)
{
    uint32_t count = sizeof wrong / sizeof *wrong, mark = 0x5aa5;
    CUdeviceptr put_requests, source;
    on(1);
    CHECK(cuMemsetD8(area.base[1], 0, LARGE + 2 * GUARD));
    CHECK(cuCtxSynchronize());
    on(0);
    put_requests = device_alloc(sizeof wrong);
    source = device_alloc(4);
    CHECK(cuMemcpyHtoD(put_requests, wrong, sizeof wrong));
    CHECK(cuMemcpyHtoD(source, &mark, 4));
    for (int i = 0; i < 2; i++)
        start_kernel(i, "far_hostile",
                     (void *[]){&handles[i], &put_requests, &count, &source, &results[i]});
    synchronize_all();
    on(1);
    is_int(word_at(area.base[1] + GUARD), mark,
           "behind put requests that make no sense a good one comes");
    ok(is_clear(1, 0, GUARD) && is_clear(1, GUARD + 4, LARGE + GUARD - 4),
       "and nothing else is written, in the window or outside it");
    ok(is_clear(0, 0, 2 * GUARD), "on neither GPU");
    on(0);
    CHECK(cuMemFree(put_requests));
    CHECK(cuMemFree(source));
}

static void close_window(void)
{
    TEAM(rgpu_window_free(&area.window));
    for (int i = 0; i < 2; i++) {
        on(i);
        CHECK(cuModuleUnload(modules[i]));
        CHECK(cuMemFree(results[i]));
        if (area.base[i])
            CHECK(cuMemFree(area.base[i]));
    }
}

// The memory goes while the window is there.
static void freed(void)
{
    uint64_t bytes = 64, at = 0;
    CUdeviceptr next;
    open_window();
    on(1);
    CHECK(cuMemFree(area.base[1]));
    area.base[1] = 0;
    next = device_alloc(1 << 16); // perhaps in its place
    CHECK(cuMemsetD8(next, 0, 1 << 16));
    on(0);
    start_kernel(0, "far_large", (void *[]){&handles[0], &area.base[0], &bytes, &at, &results[0]});
    on(0);
    gives(cuStreamSynchronize(streams[0]), CUDA_SUCCESS, "a put into memory that is gone ends");
    on(1);
    is_int(word_at(next), 0, "and is not done");
    CHECK(cuMemFree(next));
    close_window();
}

static void wait_for_nobody(void)
{
    start_kernel(0, "far_wait", (void *[]){&handles[0], &results[0]});
    gives(cuStreamQuery(streams[0]), CUDA_ERROR_NOT_READY, "kernels wait");
}

static void are_let_go(void)
{
    on(0);
    gives(cuStreamSynchronize(streams[0]), CUDA_SUCCESS, "the kernels end");
    for (int block = 0; block < BLOCKS; block++)
        is_int(result_of(0, block), RGPU_DEVICE_LOST, "block %d is told why", block);
}

static void hear_of_it(bool lost)
{
    char line[8];
    printf("# waits\n");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        bail("nobody said that the other one is gone");
    if (!lost)
        return;
    are_let_go();
    on(0);
    ok(is_clear(0, 0, GUARD), "and the survivor's GPU is as it was");
}

int main(int argc, char **argv)
{
    open_members(2);
    open_window();
    if (argc > 1) {
        wait_for_nobody();
        hear_of_it(!strcmp(argv[1], "lost"));
        rgpu_team_destroy(&team);
        return done();
    }
    many();
    put_large(33, 1);
    put_large(LARGE - 8, 5);
    hostile();
    close_window();
    freed();
    open_window();
    wait_for_nobody();
    refuses(rgpu_window_free(&area.window), RGPU_ERROR_BUSY, "a window with kernels stays");
    rgpu_team_abort(team);
    are_let_go();
    struct rgpu_window *window = area.window;
    refuses(rgpu_window_free(&window), RGPU_ERROR_LOST, "and then it can be freed");
    close_members();
    return done();
}
