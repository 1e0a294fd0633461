// SPDX-License-Identifier: BSD-3-Clause
// The beginning and the end of teams, and what GPUs reach of each other.
#include "team-lib/team_parts.h"

#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "team-lib/collective.h"
#include "team-lib/team_watch.h"
#include "team-lib/window.h"

// ---- members ----

static enum rgpu_result prepare_member(struct team_member *member)
{
    int flushes = 0;
    CUdevice device;
    enum rgpu_result result = DRIVER(cuCtxGetDevice(&device));
    if (!result)
        result = DRIVER(
            cuDeviceGetAttribute(&flushes, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, device));
    if (!result)
        result = collective_load(&member->kernels);
    member->flush = flushes ? CU_STREAM_WAIT_VALUE_FLUSH : 0;
    return result ? result : DRIVER(cuStreamCreate(&member->own, CU_STREAM_NON_BLOCKING));
}

static enum rgpu_result prepare_members(struct rgpu_team *team)
{
    enum rgpu_result result = RGPU_SUCCESS;
    for (int i = 0; i < team->local && !result; i++) {
        result = team_enter(team, team->first + i);
        if (result)
            return result;
        result = prepare_member(&team->members[team->first + i]);
        team_leave();
    }
    return result;
}

static CUdevice device_of(const struct rgpu_team *team, int rank)
{
    CUdevice device = -1;
    if (!team_enter(team, rank)) {
        if (cuCtxGetDevice(&device) != CUDA_SUCCESS)
            device = -1;
        team_leave();
    }
    return device;
}

// Whether streams of FROM may write memory of TO. Where access is not given, copies go nevertheless.
static bool reaches(const struct rgpu_team *team, int from, int to)
{
    CUdevice here = device_of(team, from), there = device_of(team, to);
    CUcontext peer = team->members[to].context;
    int can = 0;
    if (team->members[from].context == peer)
        return true;
    if (here == there || cuDeviceCanAccessPeer(&can, here, there) != CUDA_SUCCESS || !can ||
        team_enter(team, from))
        return false;
    CUresult result = cuCtxEnablePeerAccess(peer, 0);
    team_leave();
    return result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

static void find_reaches(struct rgpu_team *team)
{
    for (int i = 0; i < team->local; i++)
        for (int to = 0; to < team->size; to++)
            team->reaches[i * team->size + to] = reaches(team, team->first + i, to);
}

// ---- teams ----

static void free_team(struct rgpu_team *team)
{
    for (int i = 0; team->members && i < team->local; i++) {
        struct team_member *member = &team->members[team->first + i];
        if (team_enter(team, team->first + i))
            continue;
        if (member->own)
            cuStreamDestroy_v2(member->own);
        if (member->scratch)
            cuMemFree_v2(member->scratch);
        if (member->kernels)
            cuModuleUnload(member->kernels);
        team_leave();
    }
    free(team->members);
    free(team->reaches);
    pthread_cond_destroy(&team->stir);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

static struct rgpu_team *new_team(int size, int first, int local)
{
    struct rgpu_team *team = calloc(1, sizeof(*team));
    if (!team)
        return NULL;
    team->size = size;
    team->first = first;
    team->local = local;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->stir, NULL);
    team->members = calloc((size_t)size, sizeof(*team->members));
    team->reaches = calloc((size_t)local * (size_t)size, sizeof(*team->reaches));
    if (team->members && team->reaches)
        return team;
    free_team(team);
    return NULL;
}

static enum rgpu_result set_up(struct rgpu_team *team)
{
    enum rgpu_result result = prepare_members(team);
    if (result)
        return result;
    find_reaches(team);
    result = collective_open(team);
    return result ? result : watch_start(team);
}

RGPU_PUBLIC enum rgpu_result rgpu_team_create(struct rgpu_team **team, const CUcontext *contexts,
                                              int count)
{
    if (!team || !contexts)
        return failure(RGPU_ERROR_INVALID, "rgpu_team_create: no place for a team, or no contexts");
    if (count < 1 || count > RGPU_MEMBERS_MAX)
        return failure(RGPU_ERROR_RANGE, "a team has 1 to %d members, not %d", RGPU_MEMBERS_MAX,
                       count);
    for (int i = 0; i < count; i++)
        if (!contexts[i])
            return failure(RGPU_ERROR_INVALID, "member %d has no context", i);
    struct rgpu_team *made = new_team(count, 0, count);
    if (!made)
        return failure(RGPU_ERROR_MEMORY, "no memory for a team");
    for (int i = 0; i < count; i++)
        made->members[i].context = contexts[i];
    enum rgpu_result result = set_up(made);
    if (result)
        rgpu_team_destroy(&made);
    else
        *team = made;
    return result;
}

RGPU_PUBLIC void rgpu_team_destroy(struct rgpu_team **team)
{
    if (!team || !*team)
        return;
    struct rgpu_team *gone = *team;
    rgpu_team_abort(gone);
    watch_end(gone);
    while (gone->windows)
        window_end_of_life(gone->windows);
    free_team(gone);
    *team = NULL;
}

RGPU_PUBLIC int rgpu_team_size(const struct rgpu_team *team)
{
    return team ? team->size : 0;
}

RGPU_PUBLIC int rgpu_team_first(const struct rgpu_team *team)
{
    return team ? team->first : 0;
}

RGPU_PUBLIC int rgpu_team_local(const struct rgpu_team *team)
{
    return team ? team->local : 0;
}

RGPU_PUBLIC enum rgpu_result rgpu_team_check(struct rgpu_team *team)
{
    if (!team)
        return failure(RGPU_ERROR_INVALID, "no team");
    SCOPED_LOCK(&team->lock);
    return team_is_usable(team);
}

RGPU_PUBLIC void rgpu_team_abort(struct rgpu_team *team)
{
    if (!team)
        return;
    SCOPED_LOCK(&team->lock);
    watch_lose(team, "the team was ended");
}
