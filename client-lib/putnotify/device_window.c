// SPDX-License-Identifier: BSD-3-Clause
// Windows for kernels: their data in the memory of the GPU.
#include "client-lib/putnotify/device_window.h"

#include <stddef.h>

#include "common/base/scope.h"
#include "proto/kernel_table.h"
#include "proto/wire.h"
#include "client-lib/putnotify/rgpu_device.h"

_Static_assert((int)RGPU_DEVICE_MEMBERS == (int)RGPU_MEMBERS_MAX, "kernels know as many members");
_Static_assert((int)RGPU_DEVICE_LOST == (int)RGPU_ERROR_LOST, "one number for one thing");
_Static_assert(sizeof(struct rgpu_device_proxy_queue) == sizeof(struct wire_proxy_queue) &&
                   sizeof(struct rgpu_device_put_request) == sizeof(struct wire_put_request) &&
                   offsetof(struct rgpu_device_proxy_queue, slots) ==
                       offsetof(struct wire_proxy_queue, slots) &&
                   offsetof(struct rgpu_device_proxy_queue, lost) ==
                       offsetof(struct wire_proxy_queue, lost) &&
                   offsetof(struct rgpu_device_put_request, data) ==
                       offsetof(struct wire_put_request, data) &&
                   (int)RGPU_DEVICE_SLOTS == (int)WIRE_PROXY_QUEUE_SLOTS &&
                   (int)RGPU_DEVICE_INLINE == (int)WIRE_PUT_REQUEST_INLINE,
               "kernels and boxes have the same proxy queue");

// NVIDIA's driver has no such table.
extern const struct kernel_table rgpu_kernel_table __attribute__((weak));

struct parts {
    size_t signals, taken, shared; // bytes
};

static struct parts parts_of(const struct rgpu_window *window, int blocks)
{
    size_t slots = (size_t)blocks * (size_t)window->tags;
    return (struct parts){(slots + 1) * sizeof(uint32_t),
                          (slots + 2 * (size_t)blocks) * sizeof(uint32_t), 3 * sizeof(uint32_t)};
}

// Returns true if kernels of RANK can write to memory of TO directly.
static bool device_window_is_near(const struct rgpu_team *team, int rank, int to)
{
    return team->reaches[rank * team->size + to];
}

static bool any_far(const struct rgpu_team *team, int rank)
{
    bool any = false;
    for (int to = 0; to < team->size; to++)
        any |= !device_window_is_near(team, rank, to) || !device_window_is_near(team, to, rank);
    return any;
}

static enum rgpu_result check_reach(const struct rgpu_team *team)
{
    if (team->process_group)
        return failure(RGPU_ERROR_NOT_SUPPORTED,
                       "windows of several processes are not for kernels");
    for (int i = 0; i < team->size * team->size && !&rgpu_kernel_table; i++)
        if (!team->reaches[i])
            return failure(
                RGPU_ERROR_NOT_SUPPORTED,
                "the GPU of member %d does not reach the memory of member %d, and no box "
                "is there that puts for it",
                i / team->size, i % team->size);
    return RGPU_SUCCESS;
}

// ---- members of other boxes ----

// Opens this member's window for puts from other boxes, and the queue for puts by its kernels.
static enum rgpu_result open_far(struct rgpu_window *window, int rank, int blocks)
{
    struct window_end *end = &window->ends[rank];
    const struct window_side *side = window_side(window, rank, rank);
    if (!any_far(window->team, rank))
        return RGPU_SUCCESS;
    enum rgpu_result result =
        DRIVER(rgpu_kernel_table.open(window->team->members[rank].context, side->base, side->size,
                                      (uint32_t)blocks, (uint32_t)window->tags, &end->far,
                                      &end->proxy_queue));
    end->is_far = !result;
    return result;
}

static enum rgpu_result reach_far(struct rgpu_window *window, int rank)
{
    const struct team_member *members = window->team->members;
    const struct window_end *ends = window->ends;
    enum rgpu_result result = RGPU_SUCCESS;
    for (int to = 0; to < window->team->size && !result; to++)
        if (!device_window_is_near(window->team, rank, to))
            result =
                DRIVER(rgpu_kernel_table.reach(members[rank].context, ends[rank].far, (uint32_t)to,
                                               members[to].context, ends[to].far));
    return result;
}

void device_window_lose(struct rgpu_window *window)
{
    for (int i = 0; i < window->team->local; i++)
        if (window->ends[i].is_far)
            rgpu_kernel_table.ask(window->team->members[i].context, window->ends[i].far, true);
}

bool device_window_runs(struct rgpu_window *window)
{
    bool runs = false;
    for (int i = 0; i < window->team->local && !runs; i++)
        runs = window->ends[i].is_far &&
               rgpu_kernel_table.ask(window->team->members[i].context, window->ends[i].far,
                                     false) == CUDA_ERROR_NOT_READY;
    return runs;
}

// ---- device memory for kernels ----

// Allocates the handle, followed by the signals, the counts of awaited signals, and the words that
// blocks share.
static enum rgpu_result allocate_part(struct rgpu_window *window, int rank,
                                      const struct parts *parts)
{
    struct window_end *end = &window->ends[rank];
    size_t size = sizeof(struct rgpu_device_window) + parts->signals + parts->taken + parts->shared;
    CUstream own = window->team->members[rank].own;
    enum rgpu_result result = team_enter(window->team, rank);
    if (result)
        return result;
    result = DRIVER(cuMemAlloc_v2(&end->handle, size));
    if (!result)
        result = DRIVER(cuMemsetD8Async(end->handle, 0, size, own));
    if (!result)
        result = DRIVER(cuStreamSynchronize(own));
    team_leave();
    return result;
}

static enum rgpu_result fill_handle(const struct rgpu_window *window, int rank, int blocks,
                                    const struct parts *parts)
{
    const struct window_end *end = &window->ends[rank];
    CUstream own = window->team->members[rank].own;
    struct rgpu_device_window handle = {
        .member = (uint32_t)rank,
        .members = (uint32_t)window->team->size,
        .blocks = (uint32_t)blocks,
        .tags = (uint32_t)window->tags,
        .taken = end->handle + sizeof(handle) + parts->signals,
        .shared = end->handle + sizeof(handle) + parts->signals + parts->taken,
        .proxy_queue = end->proxy_queue,
    };
    for (int to = 0; to < window->team->size; to++) {
        bool near = device_window_is_near(window->team, rank, to);
        handle.base[to] = near ? window_side(window, rank, to)->base : 0;
        handle.size[to] = window_side(window, rank, to)->size;
        handle.signals[to] = near ? window->ends[to].handle + sizeof(handle) : 0;
        if (window->team->members[to].context == window->team->members[rank].context)
            handle.same |= UINT64_C(1) << to;
    }
    enum rgpu_result result = team_enter(window->team, rank);
    if (result)
        return result;
    result = DRIVER(cuMemcpyHtoDAsync_v2(end->handle, &handle, sizeof(handle), own));
    if (!result)
        result = DRIVER(cuStreamSynchronize(own));
    team_leave();
    return result;
}

void device_window_free(struct rgpu_window *window, int rank)
{
    struct window_end *end = &window->ends[rank];
    if (end->is_far)
        rgpu_kernel_table.close(window->team->members[rank].context, end->far);
    end->is_far = false;
    end->proxy_queue = 0;
    if (end->handle && !team_enter(window->team, rank)) {
        cuMemFree_v2(end->handle);
        team_leave();
    }
    end->handle = 0;
}

// Opens all parts or none.
static enum rgpu_result make_parts(struct rgpu_window *window, int blocks)
{
    struct parts parts = parts_of(window, blocks);
    enum rgpu_result result = RGPU_SUCCESS;
    for (int rank = 0; rank < window->team->size && !result; rank++)
        result = allocate_part(window, rank, &parts);
    for (int rank = 0; rank < window->team->size && !result; rank++)
        result = open_far(window, rank, blocks);
    for (int rank = 0; rank < window->team->size && !result; rank++)
        result = reach_far(window, rank);
    for (int rank = 0; rank < window->team->size && !result; rank++)
        result = fill_handle(window, rank, blocks, &parts);
    for (int rank = 0; rank < window->team->size && result; rank++)
        device_window_free(window, rank);
    return result;
}

RGPU_PUBLIC enum rgpu_result rgpu_window_open_device(struct rgpu_window *window, int blocks,
                                                     CUdeviceptr *handles)
{
    if (!window || !handles)
        return failure(RGPU_ERROR_INVALID, "rgpu_window_open_device: no window, or no handles");
    if (blocks < 1 || blocks > RGPU_BLOCKS_MAX)
        return failure(RGPU_ERROR_RANGE, "kernels have 1 to %d blocks, not %d", RGPU_BLOCKS_MAX,
                       blocks);
    SCOPED_LOCK(&window->team->lock);
    enum rgpu_result result = team_is_usable(window->team);
    if (!result)
        result = check_reach(window->team);
    if (!result && window->ends[0].handle)
        result = failure(RGPU_ERROR_INVALID, "the window is open for kernels already");
    if (!result)
        result = make_parts(window, blocks);
    for (int rank = 0; rank < window->team->size && !result; rank++)
        handles[rank] = window->ends[rank].handle;
    return result;
}
