// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/collective.h"

#include "client-lib/putnotify/put.h"
#include "client-lib/putnotify/team_watch.h"
#include "client-lib/putnotify/window.h"

// The text of reduce.ptx, ended by a zero byte.
__asm__(".pushsection .rodata\n"
        "reduce_ptx: .incbin \"client-lib/putnotify/reduce.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char reduce_ptx[] __attribute__((visibility("hidden")));

enum rgpu_result collective_load(CUmodule *module)
{
    enum rgpu_result result = DRIVER(cuModuleLoadData(module, reduce_ptx));
    return result ? result : all_reduce_load(*module);
}

enum rgpu_result collective_open(struct rgpu_team *team)
{
    CUdeviceptr bases[RGPU_MEMBERS_MAX];
    size_t sizes[RGPU_MEMBERS_MAX];
    for (int i = 0; i < team->local; i++) {
        sizes[i] = COLLECTIVE_PIECE * COLLECTIVE_PIECES;
        enum rgpu_result result = team_enter(team, team->first + i);
        if (result)
            return result;
        result = DRIVER(cuMemAlloc_v2(&bases[i], sizes[i]));
        team_leave();
        if (result)
            return result;
        team->members[team->first + i].scratch = bases[i];
    }
    return window_make(team, bases, sizes, COLLECTIVE_TAGS, &team->own);
}

// ---- beginning and end ----

static enum rgpu_result check_streams(const struct collective *c)
{
    enum rgpu_result result = RGPU_SUCCESS;
    for (int i = 0; i < c->team->local && !result; i++) {
        result = team_enter(c->team, collective_rank(c, i));
        if (result)
            return result;
        result = put_check_stream(c->team, collective_rank(c, i), c->streams[i]);
        team_leave();
    }
    return result;
}

enum rgpu_result collective_begin(const struct collective *c, const char *what)
{
    if (!c->team || !c->streams)
        return failure(RGPU_ERROR_INVALID, "%s: no team or window, or no streams", what);
    pthread_mutex_lock(&c->team->lock);
    enum rgpu_result result = team_is_usable(c->team);
    if (!result)
        result = check_streams(c);
    if (result)
        pthread_mutex_unlock(&c->team->lock);
    return result;
}

enum rgpu_result collective_end(const struct collective *c, enum rgpu_result result)
{
    if (result)
        watch_lose(c->team, "a collective could not be queued whole: %s", rgpu_error_text());
    pthread_mutex_unlock(&c->team->lock);
    return result;
}

enum rgpu_result collective_check_places(const struct rgpu_window *window, size_t offset,
                                         size_t bytes)
{
    enum rgpu_result result = RGPU_SUCCESS;
    for (int rank = 0; rank < window->team->size && !result; rank++)
        result = window_check_place(window, rank, offset, bytes);
    return result;
}

// ---- steps ----

enum rgpu_result collective_put(const struct collective *c, int i, struct rgpu_window *into, int to,
                                size_t offset, CUdeviceptr source, size_t bytes,
                                enum collective_tag tag)
{
    int from = collective_rank(c, i);
    CUstream stream = c->streams[i];
    enum rgpu_result result = team_enter(c->team, from);
    if (result)
        return result;
    if (bytes)
        result = put_data(into, from, to, offset, source, bytes, stream);
    if (!result)
        result = put_signal(c->team->own, from, to, (int)tag, stream);
    if (!result && bytes && into != c->team->own)
        result = put_signal(into, from, to, RGPU_NO_SIGNAL, stream);
    team_leave();
    return result;
}

enum rgpu_result collective_wait(const struct collective *c, int i, int from,
                                 enum collective_tag tag)
{
    int at = collective_rank(c, i);
    enum rgpu_result result = team_enter(c->team, at);
    if (result)
        return result;
    result = put_wait(c->team->own, at, from, (int)tag, 1, c->streams[i]);
    team_leave();
    return result;
}

// A dissemination barrier: after each round a member has news of twice as many others as before
// (Hensgen, Finkel and Manber, 1988).
enum rgpu_result collective_barrier(const struct collective *c)
{
    enum rgpu_result result = RGPU_SUCCESS;
    for (int round = 0; 1 << round < c->team->size; round++) {
        for (int i = 0; i < c->team->local && !result; i++)
            result = collective_put(c, i, NULL,
                                    collective_behind(c, collective_rank(c, i), -(1 << round)), 0,
                                    0, 0, TAG_ROUND + round);
        for (int i = 0; i < c->team->local && !result; i++)
            result = collective_wait(c, i, collective_behind(c, collective_rank(c, i), 1 << round),
                                     TAG_ROUND + round);
    }
    return result;
}
