// SPDX-License-Identifier: BSD-3-Clause
// All-reduce around a ring. The data are cut into one part for each member. In the first half of
// the steps each member puts a part to the next one, which adds its own data and passes the sum on:
// then each part is complete at one member. In the second half the complete parts go around. In the
// first half parts arrive in scratch memory for two pieces, and the receiver signals when it has
// used a piece. Complete parts arrive in their final place: they include the receiver's own data,
// so those are no longer needed there.
#include "client-lib/putnotify/collective.h"

#include <stdio.h>

enum { THREADS = 256, BLOCKS_MAX = 1024 };

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [RGPU_INT32] = {"int32", 4},     [RGPU_UINT32] = {"uint32", 4},
    [RGPU_INT64] = {"int64", 8},     [RGPU_UINT64] = {"uint64", 8},
    [RGPU_FLOAT16] = {"float16", 2}, [RGPU_BFLOAT16] = {"bfloat16", 2},
    [RGPU_FLOAT32] = {"float32", 4}, [RGPU_FLOAT64] = {"float64", 8},
};
static const char *const operations[] = {
    [RGPU_SUM] = "sum",
    [RGPU_PRODUCT] = "product",
    [RGPU_MINIMUM] = "minimum",
    [RGPU_MAXIMUM] = "maximum",
};

// One turn around the ring: a part of PER numbers for each member. The last parts may be shorter or
// empty.
struct turn {
    struct collective c;
    size_t offset; // of the first number in the window
    size_t count;
    size_t per;
    size_t number; // bytes
    CUfunction kernels[RGPU_MEMBERS_MAX];
};

struct part_span {
    size_t offset, count;
};

static struct part_span all_reduce_part_of(const struct turn *turn, int part)
{
    size_t begin = (size_t)part * turn->per;
    size_t end = begin + turn->per;
    begin = begin < turn->count ? begin : turn->count;
    end = end < turn->count ? end : turn->count;
    return (struct part_span){turn->offset + begin * turn->number, end - begin};
}

static CUdeviceptr own_place(const struct turn *turn, int i, size_t offset)
{
    return turn->c.window->sides[collective_rank(&turn->c, i)].base + offset;
}

// ---- first half: reducing ----

static enum rgpu_result all_reduce_pass_on(const struct turn *turn, int i, int step)
{
    const struct collective *c = &turn->c;
    int rank = collective_rank(c, i), next = collective_behind(c, rank, -1);
    struct team_member *member = &c->team->members[rank];
    struct part_span part = all_reduce_part_of(turn, collective_behind(c, rank, step));
    size_t slot = member->passed % COLLECTIVE_PIECES;
    enum rgpu_result result = RGPU_SUCCESS;
    if (member->passed >= COLLECTIVE_PIECES)
        result = collective_wait(c, i, next, TAG_TAKEN);
    if (!result)
        result = collective_put(c, i, c->team->own, next, slot * COLLECTIVE_PIECE,
                                own_place(turn, i, part.offset), part.count * turn->number,
                                TAG_ARRIVED);
    member->passed++;
    return result;
}

static enum rgpu_result all_reduce_launch(const struct turn *turn, int i, CUdeviceptr into,
                                          CUdeviceptr from, size_t count)
{
    size_t blocks = (count + THREADS - 1) / THREADS;
    unsigned long long numbers = count;
    void *parameters[] = {&into, &from, &numbers};
    enum rgpu_result result = team_enter(turn->c.team, collective_rank(&turn->c, i));
    if (result)
        return result;
    result = DRIVER(cuLaunchKernel(turn->kernels[i],
                                   (unsigned int)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX), 1, 1,
                                   THREADS, 1, 1, 0, turn->c.streams[i], parameters, NULL));
    team_leave();
    return result;
}

// Adds the data that arrived in this step. Their slot follows from the sender's count, which equals
// this member's own, since both take the same steps.
static enum rgpu_result take_in(const struct turn *turn, int i, int step)
{
    const struct collective *c = &turn->c;
    int rank = collective_rank(c, i), before = collective_behind(c, rank, 1);
    const struct team_member *member = &c->team->members[rank];
    struct part_span part = all_reduce_part_of(turn, collective_behind(c, rank, step + 1));
    size_t slot = (member->passed - 1) % COLLECTIVE_PIECES;
    enum rgpu_result result = collective_wait(c, i, before, TAG_ARRIVED);
    if (!result && part.count)
        result = all_reduce_launch(turn, i, own_place(turn, i, part.offset),
                                   member->scratch + slot * COLLECTIVE_PIECE, part.count);
    return result ? result : collective_put(c, i, NULL, before, 0, 0, 0, TAG_TAKEN);
}

// ---- second half: gathering ----

static enum rgpu_result show_around(const struct turn *turn, int i, int step)
{
    const struct collective *c = &turn->c;
    int rank = collective_rank(c, i);
    struct part_span part = all_reduce_part_of(turn, collective_behind(c, rank, step - 1));
    return collective_put(c, i, c->window, collective_behind(c, rank, -1), part.offset,
                          own_place(turn, i, part.offset), part.count * turn->number, TAG_GATHERED);
}

static enum rgpu_result all_reduce_take_turn(const struct turn *turn)
{
    const struct collective *c = &turn->c;
    enum rgpu_result result = RGPU_SUCCESS;
    for (int step = 0; step < c->team->size - 1; step++) {
        for (int i = 0; i < c->team->local && !result; i++)
            result = all_reduce_pass_on(turn, i, step);
        for (int i = 0; i < c->team->local && !result; i++)
            result = take_in(turn, i, step);
    }
    for (int step = 0; step < c->team->size - 1; step++) {
        for (int i = 0; i < c->team->local && !result; i++)
            result = show_around(turn, i, step);
        for (int i = 0; i < c->team->local && !result; i++)
            result =
                collective_wait(c, i, collective_behind(c, collective_rank(c, i), 1), TAG_GATHERED);
    }
    return result;
}

static enum rgpu_result all_reduce_find_kernel(CUfunction *kernel, CUmodule module, size_t type,
                                               size_t operation)
{
    char name[32];
    snprintf(name, sizeof(name), "%s_%s", operations[operation], types[type].name);
    return DRIVER(cuModuleGetFunction(kernel, module, name));
}

// Loads all kernels while no work waits. A driver that loads code with the first launch may wait
// for all work at that time. Such work may wait for a later call of the program, which would be a
// deadlock.
enum rgpu_result all_reduce_load(CUmodule module)
{
    enum rgpu_result result = RGPU_SUCCESS;
    const size_t kinds = sizeof(operations) / sizeof(operations[0]);
    for (size_t i = 0; cuFuncLoad && !result && i < kinds * sizeof(types) / sizeof(types[0]); i++) {
        CUfunction kernel;
        result = all_reduce_find_kernel(&kernel, module, i / kinds, i % kinds);
        if (!result)
            result = DRIVER(cuFuncLoad(kernel));
    }
    return result;
}

enum rgpu_result all_reduce_run_first(CUmodule module, CUstream stream)
{
    CUfunction kernel;
    CUdeviceptr none = 0;
    uint64_t count = 0;
    enum rgpu_result result = all_reduce_find_kernel(&kernel, module, 0, 0);
    if (!result)
        result = DRIVER(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream,
                                       (void *[]){&none, &none, &count}, NULL));
    return result ? result : DRIVER(cuStreamSynchronize(stream));
}

static enum rgpu_result all_reduce_find_kernels(struct turn *turn, enum rgpu_type type,
                                                enum rgpu_operation operation)
{
    enum rgpu_result result = RGPU_SUCCESS;
    for (int i = 0; i < turn->c.team->local && !result; i++) {
        const struct team_member *member = &turn->c.team->members[collective_rank(&turn->c, i)];
        result = all_reduce_find_kernel(&turn->kernels[i], member->kernels, type, operation);
    }
    return result;
}

static enum rgpu_result reduce_all(struct turn *turn, size_t count)
{
    const size_t members = (size_t)turn->c.team->size;
    const size_t most = members * (COLLECTIVE_PIECE / turn->number);
    enum rgpu_result result = RGPU_SUCCESS;
    for (size_t begin = turn->offset; count && !result; count -= turn->count) {
        turn->count = count < most ? count : most;
        turn->per = (turn->count + members - 1) / members;
        turn->offset = begin;
        result = all_reduce_take_turn(turn);
        begin += turn->count * turn->number;
    }
    return result;
}

static enum rgpu_result check_numbers(const struct rgpu_window *window, size_t offset, size_t count,
                                      enum rgpu_type type, enum rgpu_operation operation)
{
    if (!window)
        return failure(RGPU_ERROR_INVALID, "rgpu_all_reduce_async: no window");
    if ((unsigned int)type >= sizeof(types) / sizeof(types[0]) ||
        (unsigned int)operation >= sizeof(operations) / sizeof(operations[0]))
        return failure(RGPU_ERROR_INVALID, "there is no type %d or no operation %d", (int)type,
                       (int)operation);
    if (offset % types[type].size)
        return failure(RGPU_ERROR_INVALID, "numbers of %zu bytes do not lie at %zu",
                       types[type].size, offset);
    if (count > (size_t)-1 / types[type].size)
        return failure(RGPU_ERROR_RANGE, "%zu numbers are too many", count);
    return collective_check_places(window, offset, count * types[type].size);
}

RGPU_PUBLIC enum rgpu_result rgpu_all_reduce_async(struct rgpu_window *window, size_t offset,
                                                   size_t count, enum rgpu_type type,
                                                   enum rgpu_operation operation,
                                                   const CUstream *streams)
{
    enum rgpu_result result = check_numbers(window, offset, count, type, operation);
    if (result)
        return result;
    struct turn turn = {.c = {window->team, window, streams},
                        .offset = offset,
                        .number = types[type].size};
    result = collective_begin(&turn.c, "rgpu_all_reduce_async");
    if (result)
        return result;
    result = all_reduce_find_kernels(&turn, type, operation);
    return collective_end(&turn.c, result ? result : reduce_all(&turn, count));
}
