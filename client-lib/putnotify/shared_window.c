// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/shared_window.h"

#include <stdio.h>

#include "client-lib/putnotify/process_group.h"
#include "client-lib/putnotify/team_watch.h"

enum { MEMORY, SIGNALS };

// The data that a member sends to the others.
struct window_offer {
    CUipcMemHandle handles[2];
    uint64_t offset, size;  // of the window within the memory of the handle
    uint64_t base, signals; // addresses in the member's process
    int32_t tags;
    int32_t failed;
};

bool shared_window_any(struct rgpu_team *team, bool own)
{
    uint8_t mine[RGPU_MEMBERS_MAX] = {own}, all[RGPU_MEMBERS_MAX] = {0};
    bool any = false;
    if (process_group_exchange(team->process_group, mine, all, 1)) {
        watch_lose(team, "%s", rgpu_error_text());
        return false;
    }
    for (int rank = 0; rank < team->size; rank++)
        any |= all[rank];
    return any;
}

// ---- offers ----

static enum rgpu_result offer_member(const struct rgpu_window *window, int rank,
                                     struct window_offer *offer)
{
    const struct window_side *side = window_side(window, rank, rank);
    CUdeviceptr base;
    size_t whole;
    enum rgpu_result result = DRIVER(cuIpcGetMemHandle(&offer->handles[SIGNALS], side->signals));
    offer->size = side->size;
    offer->base = side->base;
    offer->signals = side->signals;
    if (result || !side->size)
        return result;
    result = DRIVER(cuMemGetAddressRange_v2(&base, &whole, side->base));
    if (result)
        return result;
    offer->offset = side->base - base;
    return DRIVER(cuIpcGetMemHandle(&offer->handles[MEMORY], base));
}

static enum rgpu_result offer_members(const struct rgpu_window *window, struct window_offer *offers)
{
    enum rgpu_result result = RGPU_SUCCESS;
    for (int i = 0; i < window->team->local && !result; i++) {
        int rank = window->team->first + i;
        result = team_enter(window->team, rank);
        if (result)
            return result;
        result = offer_member(window, rank, &offers[i]);
        team_leave();
    }
    return result;
}

// ---- opening ----

static void close_side(struct window_side *side)
{
    for (int i = 0; i < 2; i++)
        if (side->opened[i])
            cuIpcCloseMemHandle(side->opened[i]);
    *side = (struct window_side){0};
}

// Opens the memory in the current context.
static enum rgpu_result open_side(struct window_side *side, const struct window_offer *offer)
{
    enum rgpu_result result = DRIVER(cuCtxGetCurrent(&side->context));
    if (!result)
        result = DRIVER(cuIpcOpenMemHandle_v2(&side->opened[SIGNALS], offer->handles[SIGNALS],
                                              CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    if (!result && offer->size)
        result = DRIVER(cuIpcOpenMemHandle_v2(&side->opened[MEMORY], offer->handles[MEMORY],
                                              CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    side->signals = side->opened[SIGNALS];
    side->base = side->opened[MEMORY] + offer->offset;
    side->size = offer->size;
    if (result)
        close_side(side);
    return result;
}

static enum rgpu_result open_in(struct rgpu_window *window, int current, struct window_side *side,
                                const struct window_offer *offer)
{
    enum rgpu_result result = team_enter(window->team, current);
    if (result)
        return result;
    result = open_side(side, offer);
    team_leave();
    return result;
}

// Memory of a GPU of the same box is opened in FROM's own context, so that the driver copies over
// the link between the GPUs, and FROM's streams write the signals themselves: on two H200s 256 MiB
// took 0.7 ms instead of 7.1 in a context of the other GPU, which is all that is possible between
// boxes.
static enum rgpu_result open_member(struct rgpu_window *window, int from, int to,
                                    const struct window_offer *offer)
{
    struct window_side *side = window_side(window, from, to);
    if (open_in(window, from, side, offer) == RGPU_SUCCESS)
        return RGPU_SUCCESS;
    enum rgpu_result result = team_retain(window->team, to);
    return result ? result : open_in(window, to, side, offer);
}

// Memory of this process is used directly.
static void use_member(struct rgpu_window *window, int from, int to,
                       const struct window_offer *offer)
{
    *window_side(window, from, to) = (struct window_side){
        .context = window->team->members[to].context,
        .base = (CUdeviceptr)offer->base,
        .size = offer->size,
        .signals = (CUdeviceptr)offer->signals,
    };
}

static enum rgpu_result open_members(struct rgpu_window *window, const struct window_offer *all)
{
    const struct rgpu_team *team = window->team;
    enum rgpu_result result = RGPU_SUCCESS;
    for (int from = team->first; from < team->first + team->local; from++)
        for (int to = 0; to < team->size && !result; to++) {
            if (team_is_local(team, to))
                continue;
            if (team->members[to].here)
                use_member(window, from, to, &all[to]);
            else
                result = open_member(window, from, to, &all[to]);
        }
    return result;
}

static enum rgpu_result check_offers(const struct rgpu_window *window,
                                     const struct window_offer *all)
{
    for (int rank = 0; rank < window->team->size; rank++) {
        if (all[rank].failed)
            return failure(RGPU_ERROR_INVALID, "member %d has no such window", rank);
        if (all[rank].tags != window->tags)
            return failure(RGPU_ERROR_INVALID, "member %d makes a window of %d tags, not %d", rank,
                           all[rank].tags, window->tags);
    }
    return RGPU_SUCCESS;
}

static enum rgpu_result shared_window_open_all(struct rgpu_window *window,
                                               const struct window_offer *all)
{
    char text[320];
    enum rgpu_result result = check_offers(window, all);
    if (!result)
        result = open_members(window, all);
    snprintf(text, sizeof(text), "%s", rgpu_error_text());
    bool failed = shared_window_any(window->team, result != RGPU_SUCCESS);
    if (result)
        return failure(result, "%s", text);
    if (window->team->lost)
        return team_is_usable(window->team);
    return failed ? failure(RGPU_ERROR_INVALID, "another process cannot open the window")
                  : RGPU_SUCCESS;
}

enum rgpu_result shared_window_open(struct rgpu_window *window, enum rgpu_result result)
{
    struct window_offer own[RGPU_MEMBERS_MAX] = {0}, all[RGPU_MEMBERS_MAX];
    char text[320];
    if (!result)
        result = offer_members(window, own);
    for (int i = 0; i < window->team->local; i++) {
        own[i].failed = result != RGPU_SUCCESS;
        own[i].tags = window->tags;
    }
    snprintf(text, sizeof(text), "%s", rgpu_error_text());
    if (process_group_exchange(window->team->process_group, own, all, sizeof(own[0]))) {
        watch_lose(window->team, "%s", rgpu_error_text());
        return result ? failure(result, "%s", text) : team_is_usable(window->team);
    }
    enum rgpu_result opened = shared_window_open_all(window, all);
    return result ? failure(result, "%s", text) : opened;
}

void shared_window_close(struct rgpu_window *window)
{
    for (int i = 0; i < window->team->local * window->team->size; i++) {
        struct window_side *side = &window->sides[i];
        if (!side->opened[SIGNALS] || cuCtxPushCurrent_v2(side->context) != CUDA_SUCCESS)
            continue;
        close_side(side);
        team_leave();
    }
}
