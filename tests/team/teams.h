// SPDX-License-Identifier: BSD-3-Clause
// Functions for the programs of this folder: a team over all available GPUs.
#ifndef RGPU_TESTS_TEAMS_H
#define RGPU_TESTS_TEAMS_H

#include "client-lib/putnotify/rgpu.h"
#include "tests/programs/driver.h"
#include "tests/programs/graph_calls.h"

enum { MOST = 8 };

static struct gpu gpus[MOST];
static int members;
static CUstream streams[MOST];
static struct rgpu_team *team;

#define TEAM(call) must_succeed((call), #call, __FILE__, __LINE__)
static inline void must_succeed(enum rgpu_result result, const char *text, const char *file,
                                int line)
{
    if (result)
        tap_bail(file, line, "%s gave %d: %s", text, (int)result, rgpu_error_text());
}

#define refuses(call, want, ...) refuses_with((call), (want), __FILE__, __LINE__, __VA_ARGS__)
__attribute__((format(printf, 5, 6))) static inline void refuses_with(enum rgpu_result got,
                                                                      enum rgpu_result want,
                                                                      const char *file, int line,
                                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tap_report(file, line, got == want && *rgpu_error_text(), format, args);
    va_end(args);
    if (got != want)
        diag("    got: %d (%s)   want: %d", (int)got, rgpu_error_text(), (int)want);
}

static inline void on(int member)
{
    CHECK(cuCtxSetCurrent(gpus[member].context));
}

// Members take turns with the GPUs that there are.
static inline void open_members(int wanted)
{
    int count = 0;
    CUcontext contexts[MOST];
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    if (!count)
        skip_all("no device");
    members = wanted ? wanted : count;
    for (int i = 0; i < members; i++) {
        gpus[i] = open_gpu(i % count);
        contexts[i] = gpus[i].context;
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    }
    TEAM(rgpu_team_create(&team, contexts, members));
}

static inline void close_members(void)
{
    rgpu_team_destroy(&team);
    for (int i = 0; i < members; i++) {
        on(i);
        CHECK(cuStreamDestroy(streams[i]));
        close_gpu(&gpus[i]);
    }
}

static inline void synchronize_all(void)
{
    for (int i = 0; i < members; i++) {
        on(i);
        CHECK(cuStreamSynchronize(streams[i]));
    }
}

// Memory of every member as a window.
struct area {
    CUdeviceptr base[MOST];
    size_t size[MOST];
    struct rgpu_window *window;
};

static inline struct area new_area(size_t size, int tags)
{
    struct area area;
    for (int i = 0; i < members; i++) {
        on(i);
        area.base[i] = device_alloc(size);
        area.size[i] = size;
        CHECK(cuMemsetD8(area.base[i], 0, size));
        CHECK(cuCtxSynchronize()); // streams that do not wait for the default one's work
    }
    TEAM(rgpu_window_register(team, area.base, area.size, tags, &area.window));
    return area;
}

static inline void free_area(struct area *area)
{
    TEAM(rgpu_window_free(&area->window));
    for (int i = 0; i < members; i++) {
        on(i);
        CHECK(cuMemFree(area->base[i]));
    }
}

#endif
