// SPDX-License-Identifier: BSD-3-Clause
// The beginning and the end of teams, and direct access between their GPUs.
#include "client-lib/putnotify/team_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/clock.h"
#include "common/base/scope.h"
#include "proto/lease_table.h"
#include "client-lib/putnotify/team_barrier.h"
#include "client-lib/putnotify/process_group.h"
#include "client-lib/putnotify/device_window.h"
#include "client-lib/putnotify/rendezvous_id.h"
#include "client-lib/putnotify/shared_window.h"
#include "client-lib/putnotify/team_watch.h"
#include "client-lib/putnotify/window.h"

// ---- members ----

static enum rgpu_result prepare_member(struct team_member *member)
{
    int flushes = 0;
    CUdevice device;
    enum rgpu_result result = DRIVER(cuCtxGetDevice(&device));
    if (!result)
        result = DRIVER(
            cuDeviceGetAttribute(&flushes, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, device));
    member->flush = flushes ? CU_STREAM_WAIT_VALUE_FLUSH : 0;
    if (!result)
        result = DRIVER(cuStreamCreate(&member->own, CU_STREAM_NON_BLOCKING));
    if (!result)
        result = DRIVER(cuStreamCreate(&member->aside, CU_STREAM_NON_BLOCKING));
    return result ? result : DRIVER(cuEventCreate(&member->turn, CU_EVENT_DISABLE_TIMING));
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

static CUdevice team_device_of(const struct rgpu_team *team, int rank)
{
    CUdevice device = -1;
    if (!team_enter(team, rank)) {
        if (cuCtxGetDevice(&device) != CUDA_SUCCESS)
            device = -1;
        team_leave();
    }
    return device;
}

// Copies between contexts without peer access work, too, but go through host memory.
static bool are_peers(const struct rgpu_team *team, int from, int to)
{
    CUdevice here = team_device_of(team, from), there = team_device_of(team, to);
    int can = 0;
    if (here == there || cuDeviceCanAccessPeer(&can, here, there) != CUDA_SUCCESS || !can ||
        team_enter(team, from))
        return false;
    CUresult result = cuCtxEnablePeerAccess(team->members[to].context, 0);
    team_leave();
    return result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

// Returns true if streams of FROM may write memory of TO directly.
static bool reaches(const struct rgpu_team *team, int from, int to)
{
    const struct team_member *members = team->members;
    return members[to].context &&
           (members[from].context == members[to].context || are_peers(team, from, to));
}

static void find_reaches(struct rgpu_team *team)
{
    for (int i = 0; i < team->local; i++)
        for (int to = 0; to < team->size; to++)
            team->reaches[i * team->size + to] = reaches(team, team->first + i, to);
}

// ---- members of other processes ----

// A GPU's identity for other processes. Software GPUs of several boxes share one UUID, so their
// order distinguishes them.
struct gpu_name {
    CUuuid uuid;
    int32_t before; // earlier devices with that UUID
};

static enum rgpu_result team_name_of(CUdevice device, struct gpu_name *name)
{
    CUuuid other;
    enum rgpu_result result = DRIVER(cuDeviceGetUuid_v2(&name->uuid, device));
    name->before = 0;
    for (CUdevice at = 0; at < device && !result; at++) {
        result = DRIVER(cuDeviceGetUuid_v2(&other, at));
        name->before += !memcmp(&other, &name->uuid, sizeof(other));
    }
    return result;
}

extern const struct lease_table rgpu_lease_table __attribute__((weak));

// Finds a GPU of the lease that the program does not see. NVIDIA's library has no such table.
static bool reach_gpu(const struct gpu_name *wanted, CUdevice *found)
{
    return &rgpu_lease_table && !wanted->before &&
           rgpu_lease_table.reach(&wanted->uuid, found) == CUDA_SUCCESS;
}

static enum rgpu_result team_find_gpu(const struct gpu_name *wanted, CUdevice *found)
{
    struct gpu_name name;
    int count = 0;
    enum rgpu_result result = DRIVER(cuDeviceGetCount(&count));
    for (*found = 0; *found < count && !result; ++*found) {
        result = team_name_of(*found, &name);
        if (!result && !memcmp(&name, wanted, sizeof(name)))
            return RGPU_SUCCESS;
    }
    if (result || reach_gpu(wanted, found))
        return result;
    return failure(
        RGPU_ERROR_INVALID,
        "this process does not reach the GPUs of all members: they are neither among those "
        "that it sees nor of its lease (RGPU_TICKET_FILE, RGPU_JOB_TICKET_FILE)");
}

// The data that members exchange about themselves.
struct member_word {
    struct gpu_name gpu;
    uint8_t process[16]; // random, and the same for all members of a process
    uint64_t context;    // handle in that process
};

static uint8_t process_word[16];

static void choose_process_word(void)
{
    if (getrandom(process_word, sizeof(process_word), 0) != (ssize_t)sizeof(process_word))
        memset(process_word, 0, sizeof(process_word));
}

static enum rgpu_result find_other(struct team_member *member, const struct member_word *word)
{
    member->here = !memcmp(word->process, process_word, sizeof(process_word));
    if (!member->here)
        return team_find_gpu(&word->gpu, &member->device);
    member->context = (CUcontext)(uintptr_t)word->context;
    return RGPU_SUCCESS;
}

static enum rgpu_result find_others(struct rgpu_team *team)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct member_word own[RGPU_MEMBERS_MAX] = {0}, all[RGPU_MEMBERS_MAX];
    enum rgpu_result result = RGPU_SUCCESS;
    pthread_once(&once, choose_process_word);
    for (int i = 0; i < team->local && !result; i++) {
        result = team_name_of(team_device_of(team, team->first + i), &own[i].gpu);
        memcpy(own[i].process, process_word, sizeof(process_word));
        own[i].context = (uintptr_t)team->members[team->first + i].context;
    }
    if (!result)
        result = process_group_exchange(team->process_group, own, all, sizeof(own[0]));
    for (int rank = 0; rank < team->size && !result; rank++)
        if (!team_is_local(team, rank))
            result = find_other(&team->members[rank], &all[rank]);
    return result;
}

// ---- teams ----

static void free_team(struct rgpu_team *team)
{
    if (team->process_group)
        process_group_leave(&team->process_group);
    for (int rank = 0; team->members && rank < team->size; rank++) {
        struct team_member *member = &team->members[rank];
        if (!member->context || team_enter(team, rank))
            continue;
        if (member->own)
            cuStreamDestroy_v2(member->own);
        if (member->aside)
            cuStreamDestroy_v2(member->aside);
        if (member->turn)
            cuEventDestroy_v2(member->turn);
        team_leave();
        if (member->retained)
            cuDevicePrimaryCtxRelease_v2(member->device);
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

static enum rgpu_result team_set_up(struct rgpu_team *team)
{
    enum rgpu_result result = prepare_members(team);
    if (result)
        return result;
    find_reaches(team);
    result = team_barrier_open(team);
    return result ? result : watch_start(team);
}

static enum rgpu_result check_members(const char *what, const CUcontext *contexts, int size,
                                      int first, int count)
{
    if (!contexts)
        return failure(RGPU_ERROR_INVALID, "%s: no contexts", what);
    if (size < 1 || size > RGPU_MEMBERS_MAX)
        return failure(RGPU_ERROR_RANGE, "a team has 1 to %d members, not %d", RGPU_MEMBERS_MAX,
                       size);
    if (count < 1 || first < 0 || first > size - count)
        return failure(RGPU_ERROR_RANGE, "there are no %d members from %d on among %d", count,
                       first, size);
    for (int i = 0; i < count; i++)
        if (!contexts[i])
            return failure(RGPU_ERROR_INVALID, "member %d has no context", first + i);
    return RGPU_SUCCESS;
}

static struct rgpu_team *team_of(const CUcontext *contexts, int size, int first, int count)
{
    struct rgpu_team *team = new_team(size, first, count);
    for (int i = 0; team && i < count; i++)
        team->members[first + i].context = contexts[i];
    return team;
}

RGPU_PUBLIC enum rgpu_result rgpu_team_create(struct rgpu_team **team, const CUcontext *contexts,
                                              int count)
{
    if (!team)
        return failure(RGPU_ERROR_INVALID, "rgpu_team_create: no place for a team");
    enum rgpu_result result = check_members("rgpu_team_create", contexts, count, 0, count);
    if (result)
        return result;
    struct rgpu_team *made = team_of(contexts, count, 0, count);
    if (!made)
        return failure(RGPU_ERROR_MEMORY, "no memory for a team");
    result = team_set_up(made);
    if (result)
        rgpu_team_destroy(&made);
    else
        *team = made;
    return result;
}

static enum rgpu_result set_up_met(struct rgpu_team *team)
{
    enum rgpu_result result = find_others(team);
    return result ? result : team_set_up(team);
}

// Notifies the other processes, which would otherwise wait for this one.
static enum rgpu_result team_give_up(struct rgpu_team *team, enum rgpu_result result)
{
    char why[sizeof(team->why)];
    snprintf(why, sizeof(why), "%s", rgpu_error_text());
    pthread_mutex_lock(&team->lock);
    watch_lose(team, "%s", why);
    pthread_mutex_unlock(&team->lock);
    rgpu_team_destroy(&team);
    return failure(result, "%s", why);
}

// The rendezvous place: a name or an id.
struct appointment {
    const char *name;
    const struct rgpu_rendezvous *rendezvous;
};

static enum rgpu_result come(struct rgpu_team *team, const struct appointment *at,
                             uint64_t deadline)
{
    struct rendezvous_place place;
    if (at->name)
        return process_group_rendezvous(at->name, team->size, team->first, team->local, deadline,
                                        &team->process_group);
    enum rgpu_result result = rendezvous_id_read(at->rendezvous, &place);
    if (result)
        return result;
    SCOPED_FD int listener = rendezvous_id_claim(&place);
    result = process_group_rendezvous_at(&place, listener, team->size, team->first, team->local,
                                         deadline, &team->process_group);
    explicit_bzero(&place, sizeof(place));
    return result;
}

static enum rgpu_result team_meet(struct rgpu_team **team, const struct appointment *at,
                                  const char *what, int size, int first, const CUcontext *contexts,
                                  int count, int timeout_ms)
{
    enum rgpu_result result = check_members(what, contexts, size, first, count);
    if (result)
        return result;
    struct rgpu_team *made = team_of(contexts, size, first, count);
    if (!made)
        return failure(RGPU_ERROR_MEMORY, "no memory for a team");
    result = come(made, at, deadline_in(timeout_ms));
    if (!result)
        result = set_up_met(made);
    if (result)
        return team_give_up(made, result);
    *team = made;
    return RGPU_SUCCESS;
}

RGPU_PUBLIC enum rgpu_result rgpu_team_rendezvous(struct rgpu_team **team, const char *name,
                                                  int size, int first, const CUcontext *contexts,
                                                  int count, int timeout_ms)
{
    if (!team || !name || !*name)
        return failure(RGPU_ERROR_INVALID, "rgpu_team_rendezvous: no place for a team, or no name");
    return team_meet(team, &(struct appointment){.name = name}, "rgpu_team_rendezvous", size, first,
                     contexts, count, timeout_ms);
}

RGPU_PUBLIC enum rgpu_result rgpu_team_rendezvous_at(struct rgpu_team **team,
                                                     const struct rgpu_rendezvous *rendezvous,
                                                     int size, int first, const CUcontext *contexts,
                                                     int count, int timeout_ms)
{
    if (!team || !rendezvous)
        return failure(RGPU_ERROR_INVALID,
                       "rgpu_team_rendezvous_at: no place for a team, or no rendezvous");
    return team_meet(team, &(struct appointment){.rendezvous = rendezvous},
                     "rgpu_team_rendezvous_at", size, first, contexts, count, timeout_ms);
}

RGPU_PUBLIC enum rgpu_result rgpu_team_exchange(struct rgpu_team *team, const void *own, void *all,
                                                size_t each)
{
    if (!team || !own || !all)
        return failure(RGPU_ERROR_INVALID, "rgpu_team_exchange: something is NULL");
    SCOPED_LOCK(&team->lock);
    enum rgpu_result result = team_is_usable(team);
    if (result)
        return result;
    if (!team->process_group) {
        memcpy(all, own, each * (size_t)team->size);
        return RGPU_SUCCESS;
    }
    if (!process_group_exchange(team->process_group, own, all, each))
        return RGPU_SUCCESS;
    watch_lose(team, "%s", rgpu_error_text());
    return team_is_usable(team);
}

// All processes close the window's memory before any of them frees it.
static void part(struct rgpu_team *team)
{
    SCOPED_LOCK(&team->lock);
    watch_finish(team);
    if (!team->lost)
        shared_window_any(team, false);
    for (struct rgpu_window *window = team->windows; window; window = window->next)
        window_close(window);
    if (!team->lost)
        shared_window_any(team, false);
    process_group_leave(
        &team->process_group); // the end of this connection does not count as a loss
}

RGPU_PUBLIC void rgpu_team_leave(struct rgpu_team *team)
{
    if (team && team->process_group)
        part(team);
    else
        rgpu_team_abort(team);
}

RGPU_PUBLIC void rgpu_team_destroy(struct rgpu_team **team)
{
    if (!team || !*team)
        return;
    struct rgpu_team *gone = *team;
    rgpu_team_leave(gone);
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
    watch_process_group(team);
    return team_is_usable(team);
}

RGPU_PUBLIC void rgpu_team_abort(struct rgpu_team *team)
{
    if (!team)
        return;
    SCOPED_LOCK(&team->lock);
    watch_lose(team, "the team was ended");
    for (struct rgpu_window *window = team->windows; window; window = window->next)
        device_window_lose(window);
}
