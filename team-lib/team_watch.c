// SPDX-License-Identifier: BSD-3-Clause
// See team_watch.h. While something is queued, the members are asked from time to time whether they still are there: a box
// that is gone answers with an error. What waits for signals of a lost team is let go by writing the numbers that it waits
// for; again and again, since a put that was under way may write over that.
#include "team-lib/team_watch.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/quiet_thread.h"
#include "common/scope.h"
#include "team-lib/company.h"

enum {
    ASK_EVERY_MS = 200,
    LET_GO_EVERY_MS = 10,
    LET_GO_TIMES = 50, // where nobody says whether it was of use
};

// ---- what is under way ----

// An event of a context that has failed says nothing of what waits there.
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
    if (team->company)
        company_lose(team->company, team->why);
    pthread_cond_signal(&team->stir);
}

// The numbers of one member's signals, as they are when all that is waited for has come.
static void write_awaited(const struct rgpu_window *window, int i)
{
    const struct rgpu_team *team = window->team;
    const struct signal_use *awaited = window->ends[i].awaited;
    int rank = team->first + i;
    for (int slot = 0; slot < team->size * window->tags; slot++)
        if (awaited[slot].pending)
            cuStreamWriteValue32_v2(team->members[rank].own,
                                    window->sides[rank].signals + (size_t)slot * sizeof(uint32_t),
                                    awaited[slot].count, 0);
}

static void let_go(struct rgpu_team *team)
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

void watch_company(struct rgpu_team *team)
{
    if (!team->company || team->lost || !company_stands(team->company))
        return;
    log_error("a team is lost first_member=%d why=\"%s\"", team->first, rgpu_error_text());
    watch_lose(team, "%s", rgpu_error_text());
}

// Those of other processes first: where a box is gone, contexts that copied there have failed as well.
static void ask_members(struct rgpu_team *team)
{
    watch_company(team);
    for (int i = 0; i < team->size && !team->lost; i++) {
        int rank = (team->first + team->local + i) % team->size;
        char name[80] = "?";
        CUdevice device;
        if (team_enter(team, rank))
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

// Until the next look is due, or the team is lost.
static void pause_watching(struct rgpu_team *team)
{
    bool was_lost = team->lost;
    uint64_t next = deadline_in(was_lost ? LET_GO_EVERY_MS : ASK_EVERY_MS);
    while (team->lost == was_lost && clock_ns() < next)
        clock_wait_until(&team->stir, &team->lock, next);
}

// The others hear of it if a process is gone, also where this one has nothing queued.
static void wait_for_work(struct rgpu_team *team)
{
    team->idle = true;
    if (!team->company || team->lost) {
        pthread_cond_wait(&team->stir, &team->lock);
        return;
    }
    clock_wait_until(&team->stir, &team->lock, deadline_in(ASK_EVERY_MS));
    watch_company(team);
}

void watch_finish(struct rgpu_team *team)
{
    while (team->watched && any_pending(team))
        clock_wait_until(&team->stir, &team->lock, deadline_in(LET_GO_EVERY_MS));
}

static void *watch(void *argument)
{
    struct rgpu_team *team = argument;
    // Questions about events would spoil a capture of a thread of the program.
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
            let_go(team);
        else
            ask_members(team);
        pause_watching(team);
    }
}

enum rgpu_result watch_start(struct rgpu_team *team)
{
    if (quiet_thread_start(&team->watcher, watch, team))
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
