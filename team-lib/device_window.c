// SPDX-License-Identifier: BSD-3-Clause
// Windows for kernels: what these find in the memory of their GPU.
#include <stdlib.h>

#include "common/scope.h"
#include "team-lib/rgpu_device.h"
#include "team-lib/window.h"

_Static_assert((int)RGPU_DEVICE_MEMBERS == (int)RGPU_MEMBERS_MAX, "kernels know as many members");

struct parts {
    size_t signals, taken; // bytes
};

static struct parts parts_of(const struct rgpu_window *window, int blocks)
{
    size_t slots = (size_t)blocks * (size_t)window->tags;
    return (struct parts){(slots + 1) * sizeof(uint32_t),
                          (slots + (size_t)blocks) * sizeof(uint32_t)};
}

static enum rgpu_result check_near(const struct rgpu_team *team)
{
    if (team->company)
        return failure(RGPU_ERROR_NOT_SUPPORTED,
                       "windows of several processes are not for kernels");
    for (int i = 0; i < team->size * team->size; i++)
        if (!team->reaches[i])
            return failure(RGPU_ERROR_NOT_SUPPORTED,
                           "the GPU of member %d does not reach the memory of member %d, and "
                           "kernels put to where they reach",
                           i / team->size, i % team->size);
    return RGPU_SUCCESS;
}

// The handle, behind it the signals, and behind these what has been waited for.
static enum rgpu_result allocate_part(struct rgpu_window *window, int rank,
                                      const struct parts *parts)
{
    struct window_end *end = &window->ends[rank];
    size_t size = sizeof(struct rgpu_device_window) + parts->signals + parts->taken;
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
    };
    for (int to = 0; to < window->team->size; to++) {
        handle.base[to] = window->sides[to].base;
        handle.size[to] = window->sides[to].size;
        handle.signals[to] = window->ends[to].handle + sizeof(handle);
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

static void free_part(struct rgpu_window *window, int rank)
{
    struct window_end *end = &window->ends[rank];
    if (end->handle && !team_enter(window->team, rank)) {
        cuMemFree_v2(end->handle);
        team_leave();
    }
    end->handle = 0;
}

// All parts or none.
static enum rgpu_result make_parts(struct rgpu_window *window, int blocks)
{
    struct parts parts = parts_of(window, blocks);
    enum rgpu_result result = RGPU_SUCCESS;
    for (int rank = 0; rank < window->team->size && !result; rank++)
        result = allocate_part(window, rank, &parts);
    for (int rank = 0; rank < window->team->size && !result; rank++)
        result = fill_handle(window, rank, blocks, &parts);
    for (int rank = 0; rank < window->team->size && result; rank++)
        free_part(window, rank);
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
        result = check_near(window->team);
    if (!result && window->ends[0].handle)
        result = failure(RGPU_ERROR_INVALID, "the window is open for kernels already");
    if (!result)
        result = make_parts(window, blocks);
    for (int rank = 0; rank < window->team->size && !result; rank++)
        handles[rank] = window->ends[rank].handle;
    return result;
}
