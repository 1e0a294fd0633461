// SPDX-License-Identifier: BSD-3-Clause
// usage: collect [MEMBERS]. Collectives over all available GPUs, compared with the host's results.
#include "tests/team/teams.h"

enum { MIB = 1 << 20 };

static void upload(struct area *area, int member, size_t offset, const void *data, size_t size)
{
    on(member);
    CHECK(cuMemcpyHtoD(area->base[member] + offset, data, size));
    CHECK(cuCtxSynchronize()); // the data may be on their way to the GPU still
}

static bool has(struct area *area, int member, size_t offset, const void *want, size_t size)
{
    void *got = must_alloc(size);
    on(member);
    CHECK(cuMemcpyDtoH(got, area->base[member] + offset, size));
    bool same = !memcmp(got, want, size);
    free(got);
    return same;
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

static void broadcasts(void)
{
    const size_t size = MIB + 20, offset = 16;
    unsigned wrong = 0;
    void *data = must_alloc(size);
    struct area area = new_area(size + 32, 1);
    for (int root = 0; root < members; root++) {
        fill_random(data, size, (uint64_t)root + 1);
        upload(&area, root, offset, data, size);
        TEAM(rgpu_broadcast_async(area.window, root, offset, size, streams));
        synchronize_all();
        for (int i = 0; i < members; i++)
            wrong += !has(&area, i, offset, data, size);
    }
    is_int(wrong, 0, "a broadcast brings everybody what each root has");
    refuses(rgpu_broadcast_async(area.window, members, 0, 4, streams), RGPU_ERROR_RANGE,
            "there is no such root");
    refuses(rgpu_broadcast_async(area.window, 0, 100, size, streams), RGPU_ERROR_RANGE,
            "nor so much room");
    free_area(&area);
    free(data);
}

static void gathers(void)
{
    const size_t block = 100004;
    size_t size = block * (size_t)members;
    unsigned char *data = must_alloc(size);
    unsigned wrong = 0;
    struct area area = new_area(size + 8, 1);
    for (uint64_t round = 0; round < 3; round++) {
        fill_random(data, size, 7 + round);
        for (int i = 0; i < members; i++)
            upload(&area, i, 8 + (size_t)i * block, data + (size_t)i * block, block);
        TEAM(rgpu_all_gather_async(area.window, 8, block, streams));
        synchronize_all();
        for (int i = 0; i < members; i++)
            wrong += !has(&area, i, 8, data, size);
    }
    is_int(wrong, 0, "all gather what each has");
    refuses(rgpu_all_gather_async(area.window, 12, block, streams), RGPU_ERROR_RANGE,
            "where there is room for it");
    refuses(rgpu_all_gather_async(area.window, 0, (size_t)1 << 63, streams), RGPU_ERROR_RANGE,
            "which is not without end");
    free_area(&area);
    free(data);
}

// Small whole numbers, of which every type has exact sums and products.
static double number_of(int member, size_t i, enum rgpu_operation operation)
{
    unsigned value = (unsigned)((i * 7 + (size_t)member * 3) % 11);
    return operation == RGPU_PRODUCT ? 1 + value % 2 : (double)value;
}

static double wanted(size_t i, enum rgpu_operation operation)
{
    double all = number_of(0, i, operation);
    for (int member = 1; member < members; member++) {
        double one = number_of(member, i, operation);
        switch (operation) {
        case RGPU_SUM: all += one; break;
        case RGPU_PRODUCT: all *= one; break;
        case RGPU_MINIMUM: all = one < all ? one : all; break;
        case RGPU_MAXIMUM: all = one > all ? one : all; break;
        }
    }
    return all;
}

static size_t store(void *at, enum rgpu_type type, double value)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, 4);
    uint16_t half = value == 0 ? 0 : (uint16_t)(((bits >> 23) - 112) << 10 | (bits >> 13 & 0x3ff));
    uint16_t bfloat = (uint16_t)(bits >> 16);
    int32_t i32 = (int32_t)value;
    uint32_t u32 = (uint32_t)value;
    int64_t i64 = (int64_t)value;
    uint64_t u64 = (uint64_t)value;
#define PUT(what) return memcpy(at, &(what), sizeof(what)), sizeof(what)
    switch (type) {
    case RGPU_INT32: PUT(i32);
    case RGPU_UINT32: PUT(u32);
    case RGPU_INT64: PUT(i64);
    case RGPU_UINT64: PUT(u64);
    case RGPU_FLOAT16: PUT(half);
    case RGPU_BFLOAT16: PUT(bfloat);
    case RGPU_FLOAT32: PUT(narrow);
    case RGPU_FLOAT64: PUT(value);
    }
    return 0;
}

static bool reduces(size_t count, enum rgpu_type type, enum rgpu_operation operation)
{
    unsigned char *data = must_alloc(count * 8), *want = must_alloc(count * 8);
    size_t each = store(data, type, 0), size = count * each;
    bool right = true;
    struct area area = new_area(size + 2 * each, 1);
    for (int member = 0; member < members; member++) {
        for (size_t i = 0; i < count; i++)
            store(data + i * each, type, number_of(member, i, operation));
        upload(&area, member, each, data, size);
    }
    for (size_t i = 0; i < count; i++)
        store(want + i * each, type, wanted(i, operation));
    TEAM(rgpu_all_reduce_async(area.window, each, count, type, operation, streams));
    synchronize_all();
    memset(data, 0, each);
    for (int member = 0; member < members; member++)
        right &= has(&area, member, each, want, size) && has(&area, member, 0, data, each) &&
                 has(&area, member, each + size, data, each);
    free_area(&area);
    free(data);
    free(want);
    return right;
}

static void reductions(void)
{
    unsigned wrong = 0;
    for (int type = RGPU_INT32; type <= RGPU_FLOAT64; type++)
        for (int operation = RGPU_SUM; operation <= RGPU_MAXIMUM; operation++)
            wrong += !reduces(1003, (enum rgpu_type)type, (enum rgpu_operation)operation);
    is_int(wrong, 0, "all types and operations are reduced, and nothing else is touched");
    ok(reduces(1, RGPU_FLOAT64, RGPU_SUM), "a single number");
    ok(reduces(0, RGPU_FLOAT64, RGPU_SUM), "none");
    ok(reduces((size_t)members * (2 * MIB / 4) + 12345, RGPU_FLOAT32, RGPU_SUM),
       "more than goes around at once");
    struct area area = new_area(64, 1);
    refuses(rgpu_all_reduce_async(area.window, 2, 4, RGPU_FLOAT32, RGPU_SUM, streams),
            RGPU_ERROR_INVALID, "numbers lie at multiples of their size");
    refuses(rgpu_all_reduce_async(area.window, 0, 17, RGPU_FLOAT32, RGPU_SUM, streams),
            RGPU_ERROR_RANGE, "and inside the window");
    refuses(rgpu_all_reduce_async(area.window, 0, 4, (enum rgpu_type)8, RGPU_SUM, streams),
            RGPU_ERROR_INVALID, "types are those that there are");
    refuses(rgpu_all_reduce_async(area.window, 0, 4, RGPU_FLOAT32, (enum rgpu_operation)4, streams),
            RGPU_ERROR_INVALID, "as are operations");
    ok(!rgpu_team_check(team), "and what is refused does the team no harm");
    free_area(&area);
}

// Without a pause in between, in streams of their own: nothing of one gets into another.
static void in_a_row(void)
{
    enum { ROUNDS = 12, COUNT = 5000 };
    struct area area = new_area(COUNT * 4, 1);
    for (int i = 0; i < members; i++) {
        on(i);
        CHECK(cuMemsetD32Async(area.base[i], 1, COUNT, streams[i]));
    }
    uint32_t want = 1, wrong = 0, *got = must_alloc(COUNT * 4);
    for (int round = 0; round < ROUNDS; round++, want *= (uint32_t)members)
        TEAM(rgpu_all_reduce_async(area.window, 0, COUNT, RGPU_UINT32, RGPU_SUM, streams));
    synchronize_all();
    for (int i = 0; i < members; i++) {
        on(i);
        CHECK(cuMemcpyDtoH(got, area.base[i], COUNT * 4));
        for (int k = 0; k < COUNT; k++)
            wrong += got[k] != want;
    }
    is_int(wrong, 0, "%d reductions in a row, each of what the one before has left", ROUNDS);
    free(got);
    free_area(&area);
}

// The kernels of a reduction are loaded before the call. Otherwise the first launch could wait for
// all work of the context, and block if a stream waits for work that the program has not queued
// yet.
static void behind_a_later_signal(void)
{
    struct area area = new_area(4, 1), go = new_area(64, 1);
    uint32_t got = 0;
    for (int i = 0; i < members; i++) {
        on(i);
        CHECK(cuMemsetD32(area.base[i], 1, 1));
    }
    TEAM(rgpu_signal_wait_async(go.window, 0, members - 1, 0, 1, streams[0]));
    TEAM(rgpu_all_reduce_async(area.window, 0, 1, RGPU_INT32, RGPU_SUM, streams));
    on(members - 1);
    CUstream other;
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    TEAM(rgpu_put_signal_async(go.window, members - 1, 0, 0, 0, 0, 0, other));
    synchronize_all();
    on(0);
    CHECK(cuMemcpyDtoH(&got, area.base[0], 4));
    is_int(got, members, "a reduction behind a signal that comes later");
    on(members - 1);
    CHECK(cuStreamDestroy(other));
    free_area(&area);
    free_area(&go);
}

int main(int argc, char **argv)
{
    open_members(argc > 1 ? atoi(argv[1]) : 0);
    behind_a_later_signal();
    barriers();
    broadcasts();
    gathers();
    reductions();
    in_a_row();
    close_members();
    return done();
}
