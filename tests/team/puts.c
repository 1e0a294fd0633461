// SPDX-License-Identifier: BSD-3-Clause
// usage: puts [MEMBERS]. Puts and signals between all available GPUs: data and signals arrive in
// order and only at their targets; streams wait for the requested number of signals; invalid calls
// are refused.
#include "tests/team/teams.h"

enum { SIZE = 256 * 1024, GUARD = 4096 };

static CUdeviceptr filled(int member, size_t size, uint64_t seed)
{
    on(member);
    CUdeviceptr data = device_random(size, seed);
    CHECK(cuCtxSynchronize());
    return data;
}

static bool holds(int member, CUdeviceptr data, size_t size, uint64_t seed)
{
    on(member);
    return has_random(data, size, seed);
}

static bool is_zero(int member, CUdeviceptr data, size_t size)
{
    unsigned char *got = must_alloc(size);
    size_t i = 0;
    on(member);
    CHECK(cuMemcpyDtoH(got, data, size));
    while (i < size && !got[i])
        i++;
    free(got);
    return i == size;
}

// Puts from every member to every member; the target copies after its wait.
static void everywhere(void)
{
    unsigned wrong = 0, outside = 0;
    for (int from = 0; from < members; from++)
        for (int to = 0; to < members; to++) {
            struct area area = new_area(SIZE + 2 * GUARD, 2);
            uint64_t seed = (uint64_t)(from * MOST + to);
            CUdeviceptr source = filled(from, SIZE, seed), copy = filled(to, SIZE, 99);
            TEAM(rgpu_signal_wait_async(area.window, to, from, 1, 1, streams[to]));
            on(to);
            if (to != from) // a stream cannot wait for itself
                CHECK(cuMemcpyDtoDAsync(copy, area.base[to] + GUARD, SIZE, streams[to]));
            CUstream stream = streams[from];
            on(from);
            if (to == from)
                CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
            TEAM(rgpu_put_signal_async(area.window, from, to, GUARD, source, SIZE, 1, stream));
            if (to == from) {
                on(to);
                CHECK(cuMemcpyDtoDAsync(copy, area.base[to] + GUARD, SIZE, streams[to]));
                on(from);
                CHECK(cuStreamSynchronize(stream));
                CHECK(cuStreamDestroy(stream));
            }
            synchronize_all();
            wrong += !holds(to, copy, SIZE, seed);
            outside += !is_zero(to, area.base[to], GUARD) ||
                       !is_zero(to, area.base[to] + GUARD + SIZE, GUARD);
            free_area(&area);
            on(from);
            CHECK(cuMemFree(source));
            on(to);
            CHECK(cuMemFree(copy));
        }
    is_int(wrong, 0, "what waits for a signal finds the data, from each member to each");
    is_int(outside, 0, "nothing beside them is written");
}

// A stream waits for the given number of signals of that sender and tag.
static void counted(int from, int to)
{
    struct area area = new_area(64, 3);
    on(from);
    CUdeviceptr source = device_alloc(64);
    TEAM(rgpu_signal_wait_async(area.window, to, from, 2, 3, streams[to]));
    on(to);
    gives(cuStreamQuery(streams[to]), CUDA_ERROR_NOT_READY, "a stream waits for a signal");
    for (int i = 0; i < 2; i++)
        TEAM(rgpu_put_signal_async(area.window, from, to, 0, source, 16, 2, streams[from]));
    TEAM(rgpu_put_signal_async(area.window, from, to, 0, source, 16, 1, streams[from]));
    TEAM(
        rgpu_put_signal_async(area.window, from, to, 0, source, 16, RGPU_NO_SIGNAL, streams[from]));
    on(from);
    CHECK(cuStreamSynchronize(streams[from]));
    on(to);
    gives(cuStreamQuery(streams[to]), CUDA_ERROR_NOT_READY,
          "two signals, one of another tag and a silent put are not three");
    refuses(rgpu_window_free(&area.window), RGPU_ERROR_BUSY,
            "a window is not freed while something waits for its signals");
    TEAM(rgpu_put_signal_async(area.window, from, to, 0, 0, 0, 2, streams[from]));
    on(to);
    gives(cuStreamSynchronize(streams[to]), CUDA_SUCCESS, "a third, which brings nothing, is");
    TEAM(rgpu_signal_wait_async(area.window, to, from, 1, 1, streams[to]));
    on(to);
    gives(cuStreamSynchronize(streams[to]), CUDA_SUCCESS,
          "a signal that came before is not waited for");
    synchronize_all();
    free_area(&area);
    ok(!area.window, "a window is freed when it is at rest");
    on(from);
    CHECK(cuMemFree(source));
}

// The copy of a put in a default stream would wait for the default stream of the other GPU, which
// waits for the put.
static void in_default_streams(int from, int to)
{
    struct area area = new_area(64, 1);
    on(from);
    CUdeviceptr source = device_alloc(4);
    CHECK(cuMemsetD32Async(source, 3, 1, NULL));
    TEAM(rgpu_signal_wait_async(area.window, to, from, 0, 1, NULL));
    TEAM(rgpu_put_signal_async(area.window, from, to, 0, source, 4, 0, NULL));
    on(from);
    CHECK(cuMemsetD32Async(source, 4, 1, NULL));
    on(to);
    gives(cuStreamSynchronize(NULL), CUDA_SUCCESS,
          "a put in a default stream ends a wait in that of another GPU");
    is_int(word_at(area.base[to]), 3, "and is ordered between what is before and behind it");
    on(from);
    CHECK(cuStreamSynchronize(NULL));
    CHECK(cuMemFree(source));
    free_area(&area);
}

// Puts of one tag happen in the order of the calls, in whatever streams: the first one's is held.
static void across_streams(int from, int to)
{
    struct area area = new_area(64, 1);
    CUstream other;
    on(from);
    CUdeviceptr first = device_alloc(4), second = device_alloc(4);
    CHECK(cuMemsetD32(first, 1, 1));
    CHECK(cuMemsetD32(second, 2, 1));
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    struct hold hold = hold_stream(&gpus[from], streams[from]);
    TEAM(rgpu_put_signal_async(area.window, from, to, 0, first, 4, 0, streams[from]));
    TEAM(rgpu_put_signal_async(area.window, from, to, 0, second, 4, 0, other));
    TEAM(rgpu_signal_wait_async(area.window, to, from, 0, 1, streams[to]));
    on(to);
    gives(cuStreamQuery(streams[to]), CUDA_ERROR_NOT_READY,
          "a put in another stream does not overtake the one before");
    on(from);
    hold_release(&hold);
    TEAM(rgpu_signal_wait_async(area.window, to, from, 0, 1, streams[to]));
    synchronize_all();
    on(to);
    is_int(word_at(area.base[to]), 2, "and comes behind it");
    on(from);
    CHECK(cuStreamSynchronize(other));
    CHECK(cuStreamDestroy(other));
    CHECK(cuMemFree(first));
    CHECK(cuMemFree(second));
    free_area(&area);
}

// A program may queue calls as long as its streams have free space, even if no work can proceed
// before its last call.
static void ahead(int from, int to)
{
    enum { EACH = 210, STREAMS = 24 };
    static uint32_t got[EACH * STREAMS];
    struct area area = new_area(sizeof got, 1), go = new_area(64, STREAMS);
    CUstream held[STREAMS];
    on(from);
    CUdeviceptr source = device_alloc(4);
    CHECK(cuMemsetD32(source, 1, 1));
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cuStreamCreate(&held[s], CU_STREAM_NON_BLOCKING));
        TEAM(rgpu_signal_wait_async(go.window, from, to, s, 1, held[s]));
    }
    for (uint32_t i = 0; i < EACH * STREAMS; i++)
        TEAM(rgpu_put_signal_async(area.window, from, to, i * 4, source, 4, RGPU_NO_SIGNAL,
                                   held[i % STREAMS]));
    for (int s = 0; s < STREAMS; s++)
        TEAM(rgpu_put_signal_async(go.window, to, from, 0, 0, 0, s, streams[to]));
    on(from);
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cuStreamSynchronize(held[s]));
        CHECK(cuStreamDestroy(held[s]));
    }
    on(to);
    CHECK(cuMemcpyDtoH(got, area.base[to], sizeof got));
    uint32_t count = 0;
    for (int i = 0; i < EACH * STREAMS; i++)
        count += got[i] == 1;
    is_int(count, EACH * STREAMS, "puts behind a signal that comes later are as many as there are");
    free_area(&area);
    free_area(&go);
    on(from);
    CHECK(cuMemFree(source));
}

// More puts than any queue holds at one time; the target adds up the received values, put by put.
static void many(int from, int to)
{
    enum { MANY = 600 };
    struct area area = new_area(MANY * 4, 1), back = new_area(64, 1);
    on(from);
    CUdeviceptr source = device_alloc(4);
    for (uint32_t i = 0; i < MANY; i++) {
        on(from);
        CHECK(cuMemsetD32Async(source, i + 1, 1, streams[from]));
        TEAM(rgpu_put_signal_async(area.window, from, to, i * 4, source, 4, 0, streams[from]));
        TEAM(rgpu_signal_wait_async(area.window, to, from, 0, 1, streams[to]));
        TEAM(rgpu_put_signal_async(back.window, to, from, 0, 0, 0, 0, streams[to]));
        TEAM(rgpu_signal_wait_async(back.window, from, to, 0, 1, streams[from]));
    }
    synchronize_all();
    uint32_t got[MANY], wrong = 0;
    on(to);
    CHECK(cuMemcpyDtoH(got, area.base[to], sizeof got));
    for (uint32_t i = 0; i < MANY; i++)
        wrong += got[i] != i + 1;
    is_int(wrong, 0, "%d puts, each answered by a signal", MANY);
    free_area(&area);
    free_area(&back);
    on(from);
    CHECK(cuMemFree(source));
}

static void refusals(void)
{
    struct area area = new_area(64, 2);
    struct rgpu_window *w = area.window, *none = NULL;
    CUdeviceptr d = area.base[0];
    CUstream s = streams[0];
    refuses(rgpu_put_signal_async(w, 0, members, 0, d, 4, 0, s), RGPU_ERROR_RANGE,
            "no such member");
    refuses(rgpu_put_signal_async(w, 0, -1, 0, d, 4, 0, s), RGPU_ERROR_RANGE, "nor this one");
    refuses(rgpu_put_signal_async(w, members, 0, 0, d, 4, 0, s), RGPU_ERROR_RANGE,
            "nor to put from");
    refuses(rgpu_put_signal_async(w, 0, 0, 0, d, 4, 2, s), RGPU_ERROR_RANGE, "no such tag");
    refuses(rgpu_put_signal_async(w, 0, 0, 0, d, 4, -2, s), RGPU_ERROR_RANGE, "nor this one");
    refuses(rgpu_put_signal_async(w, 0, 0, 60, d, 5, 0, s), RGPU_ERROR_RANGE,
            "a put that ends behind the window");
    refuses(rgpu_put_signal_async(w, 0, 0, 65, d, 0, 0, s), RGPU_ERROR_RANGE,
            "one that begins there");
    refuses(rgpu_put_signal_async(w, 0, 0, 8, d, (size_t)-4, 0, s), RGPU_ERROR_RANGE,
            "one that goes around all memory");
    refuses(rgpu_put_signal_async(NULL, 0, 0, 0, d, 4, 0, s), RGPU_ERROR_INVALID, "no window");
    refuses(rgpu_signal_wait_async(w, 0, members, 0, 1, s), RGPU_ERROR_RANGE,
            "a wait for no such member");
    refuses(rgpu_signal_wait_async(w, 0, 0, 2, 1, s), RGPU_ERROR_RANGE, "for no such tag");
    refuses(rgpu_signal_wait_async(w, 0, 0, 0, 0, s), RGPU_ERROR_RANGE, "for nothing");
    refuses(rgpu_signal_wait_async(w, 0, 0, 0, RGPU_COUNT_MAX + 1, s), RGPU_ERROR_RANGE,
            "for more than can be counted");
    if (gpus[0].context != gpus[members - 1].context)
        refuses(rgpu_put_signal_async(w, 0, 0, 0, d, 4, 0, streams[members - 1]),
                RGPU_ERROR_INVALID, "another member's stream");
    refuses(rgpu_window_register(team, area.base, area.size, RGPU_TAGS_MAX + 1, &none),
            RGPU_ERROR_RANGE, "a window of too many tags");
    area.size[0] = (size_t)1 << 40;
    refuses(rgpu_window_register(team, area.base, area.size, 1, &none), RGPU_ERROR_INVALID,
            "a window larger than its memory");
    area.size[0] = 64;
    refuses(rgpu_team_create(&team, NULL, 1), RGPU_ERROR_INVALID, "a team of nobody's");
    refuses(rgpu_team_create(&team, &gpus[0].context, RGPU_MEMBERS_MAX + 1), RGPU_ERROR_RANGE,
            "a team that is too large");
    CUgraph graph;
    on(0);
    CHECK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    refuses(rgpu_put_signal_async(w, 0, 0, 0, d, 4, 0, s), RGPU_ERROR_NOT_SUPPORTED,
            "a put in a stream that is captured");
    CHECK(cuStreamEndCapture(s, &graph));
    CHECK(cuGraphDestroy(graph));
    ok(is_zero(0, area.base[0], 64) && !rgpu_team_check(team), "none of it did anything");
    free_area(&area);
}

// An ended team lets go what waits for ever otherwise.
static void aborted(void)
{
    struct area area = new_area(64, 1);
    for (int i = 0; i < members; i++)
        TEAM(rgpu_signal_wait_async(area.window, i, (i + 1) % members, 0, 2, streams[i]));
    rgpu_team_abort(team);
    synchronize_all();
    pass("when a team is ended, all streams go on that wait for its signals");
    refuses(rgpu_team_check(team), RGPU_ERROR_LOST, "it says so");
    refuses(rgpu_put_signal_async(area.window, 0, 0, 0, area.base[0], 4, 0, streams[0]),
            RGPU_ERROR_LOST, "and takes nothing any more");
}

// No member passes a barrier before the last one arrives.
static void barriers(void)
{
    int last = members - 1;
    unsigned early = 0;
    on(last);
    struct hold hold = hold_stream(&gpus[last], streams[last]);
    TEAM(rgpu_barrier_async(team, streams));
    TEAM(rgpu_barrier_async(team, streams));
    for (int i = 0; i < members; i++) {
        on(i);
        early += cuStreamQuery(streams[i]) != CUDA_ERROR_NOT_READY;
    }
    is_int(early, 0, "nobody passes a barrier before the last one has come");
    on(last);
    hold_release(&hold);
    synchronize_all();
    pass("then all do");
}

int main(int argc, char **argv)
{
    open_members(argc > 1 ? atoi(argv[1]) : 0);
    is_int(rgpu_team_size(team), members, "a team has its members");
    refusals();
    everywhere();
    barriers();
    if (members > 1) {
        counted(0, members - 1);
        across_streams(members - 1, 0);
        if (gpus[0].context != gpus[members - 1].context)
            in_default_streams(0, members - 1);
        many(0, members - 1);
        ahead(0, members - 1);
    }
    aborted();
    close_members();
    ok(!team, "a team ends");
    return done();
}
