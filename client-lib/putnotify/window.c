// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/window.h"

#include <stdlib.h>

#include "common/base/scope.h"
#include "client-lib/putnotify/device_window.h"
#include "client-lib/putnotify/shared_window.h"
#include "client-lib/putnotify/team_watch.h"

enum {
    // Smaller memory is not offered to GPUs of other boxes on the same host, so copies to it would
    // take a slower path.
    ALLOCATION_MIN = 64 * 1024,
};

// ---- the memory of signals ----

static size_t slots(const struct rgpu_window *window, int tags)
{
    return (size_t)window->team->size * (size_t)tags;
}

static enum rgpu_result allocate_zeros(CUdeviceptr *memory, size_t size, CUstream stream)
{
    if (size < ALLOCATION_MIN)
        size = ALLOCATION_MIN;
    enum rgpu_result result = DRIVER(cuMemAlloc_v2(memory, size));
    return result ? result : DRIVER(cuMemsetD8Async(*memory, 0, size, stream));
}

static enum rgpu_result window_make_memory(struct rgpu_window *window, int rank,
                                           struct window_end *end)
{
    CUstream own = window->team->members[rank].own;
    enum rgpu_result result = allocate_zeros(&window_side(window, rank, rank)->signals,
                                             slots(window, window->tags) * sizeof(uint32_t), own);
    if (!result)
        result =
            allocate_zeros(&end->words, slots(window, window->tags + 1) * sizeof(uint32_t), own);
    return result ? result : DRIVER(cuStreamSynchronize(own));
}

static enum rgpu_result make_end(struct rgpu_window *window, int i)
{
    struct window_end *end = &window->ends[i];
    int rank = window->team->first + i;
    end->sent = calloc(slots(window, window->tags + 1), sizeof(*end->sent));
    end->awaited = calloc(slots(window, window->tags), sizeof(*end->awaited));
    if (!end->sent || !end->awaited)
        return failure(RGPU_ERROR_MEMORY, "no memory for the signals of a window");
    enum rgpu_result result = team_enter(window->team, rank);
    if (result)
        return result;
    result = window_make_memory(window, rank, end);
    team_leave();
    return result;
}

static void free_end(struct rgpu_window *window, int i)
{
    struct window_end *end = &window->ends[i];
    int rank = window->team->first + i;
    device_window_free(window, i);
    if (!team_enter(window->team, rank)) {
        if (window_side(window, rank, rank)->signals)
            cuMemFree_v2(window_side(window, rank, rank)->signals);
        if (end->words)
            cuMemFree_v2(end->words);
        team_leave();
    }
    free(end->sent);
    free(end->awaited);
}

static void free_events(struct rgpu_window *window)
{
    for (struct signal_use *use = window->used; use; use = use->next_used)
        if (cuCtxPushCurrent_v2(use->context) == CUDA_SUCCESS) {
            cuEventDestroy_v2(use->last);
            team_leave();
        }
}

// ---- windows ----

static void window_free_window(struct rgpu_window *window)
{
    free_events(window);
    for (int i = 0; window->ends && i < window->team->local; i++)
        free_end(window, i);
    free(window->ends);
    free(window->sides);
    free(window);
}

static enum rgpu_result window_check_memory(const struct rgpu_team *team, int i, CUdeviceptr base,
                                            size_t size)
{
    CUdeviceptr start;
    size_t there;
    if (!size)
        return RGPU_SUCCESS;
    enum rgpu_result result = team_enter(team, team->first + i);
    if (result)
        return result;
    CUresult found = cuMemGetAddressRange_v2(&start, &there, base);
    team_leave();
    if (found != CUDA_SUCCESS || base - start > there || size > there - (base - start))
        return failure(RGPU_ERROR_INVALID, "member %d has no %zu bytes of memory at 0x%llx",
                       team->first + i, size, (unsigned long long)base);
    return RGPU_SUCCESS;
}

static struct rgpu_window *new_window(struct rgpu_team *team, int tags)
{
    struct rgpu_window *window = calloc(1, sizeof(*window));
    if (!window)
        return NULL;
    window->team = team;
    window->tags = tags;
    window->sides = calloc((size_t)team->local * (size_t)team->size, sizeof(*window->sides));
    window->ends = calloc((size_t)team->local, sizeof(*window->ends));
    if (window->sides && window->ends)
        return window;
    window_free_window(window);
    return NULL;
}

static void window_append(struct rgpu_team *team, struct rgpu_window *window)
{
    struct rgpu_window **at = &team->windows;
    while (*at)
        at = &(*at)->next;
    *at = window;
}

static enum rgpu_result fill_in(struct rgpu_window *window, const CUdeviceptr *bases,
                                const size_t *sizes)
{
    const struct rgpu_team *team = window->team;
    enum rgpu_result result = RGPU_SUCCESS;
    for (int i = 0; i < team->local && !result; i++) {
        struct window_side *side = window_side(window, team->first + i, team->first + i);
        side->context = team->members[team->first + i].context;
        side->base = bases[i];
        side->size = sizes[i];
        result = make_end(window, i);
    }
    for (int from = team->first; from < team->first + team->local; from++)
        for (int to = team->first; to < team->first + team->local; to++)
            *window_side(window, from, to) = *window_side(window, to, to);
    return result;
}

enum rgpu_result window_make(struct rgpu_team *team, const CUdeviceptr *bases, const size_t *sizes,
                             int tags, struct rgpu_window **window)
{
    enum rgpu_result result = RGPU_SUCCESS;
    struct rgpu_window *made = new_window(team, tags);
    if (!made)
        return failure(RGPU_ERROR_MEMORY, "no memory for a window");
    for (int i = 0; i < team->local && !result; i++)
        result = window_check_memory(team, i, bases[i], sizes[i]);
    if (!result)
        result = fill_in(made, bases, sizes);
    if (team->process_group)
        result = shared_window_open(made, result);
    if (result) {
        window_close(made);
        window_free_window(made);
        return result;
    }
    window_append(team, made);
    *window = made;
    return RGPU_SUCCESS;
}

void window_close(struct rgpu_window *window)
{
    if (window->team->process_group)
        shared_window_close(window);
}

void window_end_of_life(struct rgpu_window *window)
{
    struct rgpu_window **at = &window->team->windows;
    while (*at && *at != window)
        at = &(*at)->next;
    if (*at)
        *at = window->next;
    window_free_window(window);
}

enum rgpu_result window_check_pair(const struct rgpu_window *window, const char *what, int local,
                                   int other)
{
    if (!window)
        return failure(RGPU_ERROR_INVALID, "%s: no window", what);
    if (!team_is_local(window->team, local))
        return failure(RGPU_ERROR_RANGE, "%s: member %d is none of this process's", what, local);
    if (other < 0 || other >= window->team->size)
        return failure(RGPU_ERROR_RANGE, "%s: there is no member %d, but %d of them", what, other,
                       window->team->size);
    return RGPU_SUCCESS;
}

enum rgpu_result window_check_place(const struct rgpu_window *window, int rank, size_t offset,
                                    size_t bytes)
{
    size_t size = window_side(window, window->team->first, rank)->size;
    if (offset > size || bytes > size - offset)
        return failure(RGPU_ERROR_RANGE,
                       "%zu bytes at %zu are not inside the %zu bytes of member %d's window", bytes,
                       offset, size, rank);
    return RGPU_SUCCESS;
}

RGPU_PUBLIC enum rgpu_result rgpu_window_register(struct rgpu_team *team, const CUdeviceptr *bases,
                                                  const size_t *sizes, int tags,
                                                  struct rgpu_window **window)
{
    if (!team || !bases || !sizes || !window)
        return failure(RGPU_ERROR_INVALID, "rgpu_window_register: something is NULL");
    if (tags < 1 || tags > RGPU_TAGS_MAX)
        return failure(RGPU_ERROR_RANGE, "a window has 1 to %d tags, not %d", RGPU_TAGS_MAX, tags);
    SCOPED_LOCK(&team->lock);
    enum rgpu_result result = team_is_usable(team);
    return result ? result : window_make(team, bases, sizes, tags, window);
}

static bool is_busy(const struct rgpu_window *window)
{
    for (struct signal_use *use = window->used; use; use = use->next_used)
        if (watch_is_pending(window->team, use))
            return true;
    return false;
}

RGPU_PUBLIC enum rgpu_result rgpu_window_free(struct rgpu_window **window)
{
    if (!window || !*window)
        return failure(RGPU_ERROR_INVALID, "rgpu_window_free: no window");
    struct rgpu_team *team = (*window)->team;
    SCOPED_LOCK(&team->lock);
    bool busy = is_busy(*window) || device_window_runs(*window);
    if (team->process_group && !team->lost)
        busy = shared_window_any(team, busy);
    if (busy)
        return failure(RGPU_ERROR_BUSY, "puts into the window, or waits for its signals, are not "
                                        "over: synchronize their streams before it is freed");
    window_close(*window);
    if (team->process_group && !team->lost)
        shared_window_any(team, false); // all processes have closed it
    window_end_of_life(*window);
    *window = NULL;
    return team_is_usable(team);
}
