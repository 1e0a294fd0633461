// SPDX-License-Identifier: BSD-3-Clause
// See team_watch.h. While work is queued, the members are queried at intervals: a box that is gone
// returns an error. Waits for signals of a lost team are ended by writing the numbers that they
// wait for. This is repeated, because a put that was under way may overwrite them.
#include "client-lib/putnotify/team_watch.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/quiet_thread.h"
#include "common/base/scope.h"
#include "client-lib/putnotify/process_group.h"

enum {
    ASK_EVERY_MS = 200,
    LET_GO_EVERY_MS = 10,
    LET_GO_TIMES = 50, // attempts, since the driver does not report if one had an effect
};

// ---- pending work ----

// An event of a failed context does not show if streams still wait there.
bool watch_is_pending(const struct rgpu_team *team, struct signal_use *use)
{
    if (use->pending && cuCtxPushCurrent_v2(use->context) == CUDA_SUCCESS) {
        CUresult result = cuEventQuery(use->last);
        team_leave();
        use->pending = result == CUDA_ERROR_NOT_READY ||
                       (result != CUDA_SUCCESS && team->let_go < LET_GO_TIMES);
    }
    return use->pending;
}

static bool any_pending(const struct rgpu_team *team)
{
    bool any = false;
    for (struct rgpu_window *window = team->windows; window; window = window->next)
        for (struct signal_use *use = window->used; use; use = use->next_used)
            any |= use->pending && watch_is_pending(team, use);
    return any;
}

void watch_stir(struct rgpu_team *team)
{
    if (team->idle)
        pthread_cond_signal(&team->stir);
    team->idle = false;
}

// ---- the end of a team ----

void watch_lose(struct rgpu_team *team, const char *format, ...)
{
    va_list args;
    if (team->lost)
        return;
    va_start(args, format);
    vsnprintf(team->why, sizeof(team->why), format, args);
    va_end(args);
    team->lost = true;
    if (team->process_group)
        process_group_lose(team->process_group, team->why);
    pthread_cond_signal(&team->stir);
}

// Writes the values that one member's signals have after all pending waits.
static void write_awaited(const struct rgpu_window *window, int i)
{
    const struct rgpu_team *team = window->team;
    const struct signal_use *awaited = window->ends[i].awaited;
    int rank = team->first + i;
    for (int slot = 0; slot < team->size * window->tags; slot++)
        if (awaited[slot].pending)
            cuStreamWriteValue32_v2(team->members[rank].own,
                                    window_side(window, rank, rank)->signals +
                                        (size_t)slot * sizeof(uint32_t),
                                    awaited[slot].count, 0);
}

static void team_watch_let_go(struct rgpu_team *team)
{
    team->let_go++;
    for (int i = 0; i < team->local; i++) {
        if (team_enter(team, team->first + i))
            continue;
        for (const struct rgpu_window *window = team->windows; window; window = window->next)
            write_awaited(window, i);
        cuStreamSynchronize(team->members[team->first + i].own);
        team_leave();
    }
}

// ---- the thread ----

void watch_process_group(struct rgpu_team *team)
{
    if (!team->process_group || team->lost || !process_group_stands(team->process_group))
        return;
    log_error("a team is lost first_member=%d why=\"%s\"", team->first, rgpu_error_text());
    watch_lose(team, "%s", rgpu_error_text());
}

// Checks other processes first: if a box is gone, contexts that copied to it have failed as well.
static void ask_members(struct rgpu_team *team)
{
    watch_process_group(team);
    for (int i = 0; i < team->size && !team->lost; i++) {
        int rank = (team->first + team->local + i) % team->size;
        char name[80] = "?";
        CUdevice device;
        if (!team->members[rank].own || team_enter(team, rank))
            continue;
        CUresult result = cuStreamQuery(team->members[rank].own);
        if (cuCtxGetDevice(&device) == CUDA_SUCCESS)
            cuDeviceGetName(name, sizeof(name), device);
        team_leave();
        if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY)
            continue;
        failure_of_driver(result, "its stream");
        watch_lose(team, "member %d (%s) is lost: %s", rank, name, rgpu_error_text());
        log_error("a member of a team is lost member=%d gpu=\"%s\" why=\"%s\"", rank, name,
                  rgpu_error_text());
    }
}

// Sleeps until the next check is due, or the team is lost.
static void pause_watching(struct rgpu_team *team)
{
    bool was_lost = team->lost;
    uint64_t next = deadline_in(was_lost ? LET_GO_EVERY_MS : ASK_EVERY_MS);
    while (team->lost == was_lost && clock_ns() < next)
        clock_wait_until(&team->stir, &team->lock, next);
}

// Checks the other processes even if this one has nothing queued, since a loss must be reported to
// all.
static void wait_for_work(struct rgpu_team *team)
{
    team->idle = true;
    if (!team->process_group || team->lost) {
        pthread_cond_wait(&team->stir, &team->lock);
        return;
    }
    clock_wait_until(&team->stir, &team->lock, deadline_in(ASK_EVERY_MS));
    watch_process_group(team);
}

void watch_finish(struct rgpu_team *team)
{
    while (team->watched && any_pending(team))
        clock_wait_until(&team->stir, &team->lock, deadline_in(LET_GO_EVERY_MS));
}

static void *team_watch_run(void *argument)
{
    struct rgpu_team *team = argument;
    // Queries of events must not invalidate captures of the program's threads.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cuThreadExchangeStreamCaptureMode(&mode);
    SCOPED_LOCK(&team->lock);
    for (;;) {
        while (!any_pending(team)) {
            if (team->ends)
                return NULL;
            wait_for_work(team);
        }
        if (team->lost)
            team_watch_let_go(team);
        else
            ask_members(team);
        pause_watching(team);
    }
}

enum rgpu_result watch_start(struct rgpu_team *team)
{
    if (quiet_thread_start(&team->watcher, team_watch_run, team))
        return failure(RGPU_ERROR_MEMORY, "no thread for a team");
    team->watched = true;
    return RGPU_SUCCESS;
}

void watch_end(struct rgpu_team *team)
{
    if (!team->watched)
        return;
    pthread_mutex_lock(&team->lock);
    team->ends = true;
    pthread_cond_signal(&team->stir);
    pthread_mutex_unlock(&team->lock);
    pthread_join(team->watcher, NULL);
    team->watched = false;
}
