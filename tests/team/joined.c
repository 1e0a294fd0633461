// SPDX-License-Identifier: BSD-3-Clause
// Runs one of several processes that form a team: they exchange data, free windows together,
// and leave. usage: joined NAME SIZE FIRST COUNT [wait|meet MS]. With `wait` it waits for
// a signal that never comes, until a process is killed; with `meet` it prints only the result of
// the rendezvous.
#include "tests/team/teams.h"

static int first, count;

static void meet(const char *name, int size, int timeout_ms)
{
    int devices = 0;
    CUcontext contexts[MOST];
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&devices));
    for (int i = 0; i < count; i++) {
        gpus[i] = open_gpu((first + i) % devices);
        contexts[i] = gpus[i].context;
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    }
    members = count; // of this process, for what teams.h does
    enum rgpu_result result =
        rgpu_team_rendezvous(&team, name, size, first, contexts, count, timeout_ms);
    printf("# met %d %s\n", (int)result, result ? rgpu_error_text() : "");
    fflush(stdout);
    int now = 0;
    CUdevice beyond;
    if (cuDeviceGetCount(&now) || now != devices ||
        cuDeviceGet(&beyond, devices) != CUDA_ERROR_INVALID_DEVICE)
        bail("the program sees %d GPUs that it did not see before", now - devices);
}

// Each member's number goes to the next one, in whatever process that is.
static void around(int size)
{
    uint32_t got, wrong = 0;
    struct area area = new_area(4096, 2);
    CUdeviceptr source[MOST];
    for (int i = 0; i < count; i++) {
        on(i);
        source[i] = device_alloc(4);
        CHECK(cuMemsetD32(source[i], (unsigned)(first + i + 100), 1));
        CHECK(cuCtxSynchronize());
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < count; i++)
            TEAM(rgpu_put_signal_async(area.window, first + i, (first + i + 1) % size, 4000,
                                       source[i], 4, 1, streams[i]));
        for (int i = 0; i < count; i++)
            TEAM(rgpu_signal_wait_async(area.window, first + i, (first + i + size - 1) % size, 1, 1,
                                        streams[i]));
        TEAM(rgpu_barrier_async(team, streams));
    }
    synchronize_all();
    for (int i = 0; i < count; i++) {
        on(i);
        CHECK(cuMemcpyDtoH(&got, area.base[i] + 4000, 4));
        wrong += got != (unsigned)((first + i + size - 1) % size + 100);
    }
    is_int(wrong, 0, "every member has what the one before has put");
    refuses(rgpu_put_signal_async(area.window, first, (first + 1) % size, 4093, source[0], 4, 1,
                                  streams[0]),
            RGPU_ERROR_RANGE, "nobody puts beyond another process's window");
    refuses(rgpu_put_signal_async(area.window, (first + count) % size, first, 0, source[0], 4, 1,
                                  streams[0]),
            RGPU_ERROR_RANGE, "nor on behalf of another process's member");
    free_area(&area);
}

// A window that another process still uses is not freed here either.
static void in_use(int size)
{
    struct area area = new_area(64, 1);
    if (!first)
        TEAM(rgpu_signal_wait_async(area.window, 0, size - 1, 0, 1, streams[0]));
    refuses(rgpu_window_free(&area.window), RGPU_ERROR_BUSY,
            "a window that is used by one of all stays");
    if (first + count == size)
        TEAM(rgpu_put_signal_async(area.window, size - 1, 0, 0, 0, 0, 0, streams[count - 1]));
    synchronize_all();
    free_area(&area);
}

// A window that one process cannot create exists in none.
static void not_everywhere(int size)
{
    struct area area = new_area(64, 1);
    struct rgpu_window *none = NULL;
    area.size[0] = first ? 64 : (size_t)1 << 40;
    refuses(rgpu_window_register(team, area.base, area.size, 1, &none), RGPU_ERROR_INVALID,
            "a window that one process has no memory for is none");
    area.size[0] = 64;
    refuses(rgpu_window_register(team, area.base, area.size, first ? 2 : 1, &none),
            RGPU_ERROR_INVALID, "nor is one of different tags");
    ok(!rgpu_team_check(team), "which does the team no harm");
    free_area(&area);
}

static void wait_in_vain(int size)
{
    struct area area = new_area(64, 1);
    for (int i = 0; i < count; i++)
        TEAM(rgpu_signal_wait_async(area.window, first + i, (first + i + 1) % size, 0, 1,
                                    streams[i]));
    printf("# waits\n");
    fflush(stdout);
    synchronize_all();
    refuses(rgpu_team_check(team), RGPU_ERROR_LOST, "the team is lost");
    printf("# lost %s\n", rgpu_error_text());
    on(0);
    ok(word_at(area.base[0]) == 0, "the GPU is as it was");
    rgpu_team_destroy(&team);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        bail("usage: joined NAME SIZE FIRST COUNT [wait|meet MS]");
    int size = atoi(argv[2]);
    first = atoi(argv[3]);
    count = atoi(argv[4]);
    bool only_meets = argc > 6;
    meet(argv[1], size, only_meets ? atoi(argv[6]) : -1);
    if (only_meets) {
        rgpu_team_destroy(&team);
        return 0;
    }
    if (!team)
        bail("no team");
    if (argc > 5) {
        wait_in_vain(size);
        return done();
    }
    around(size);
    in_use(size);
    not_everywhere(size);
    close_members();
    return done();
}
