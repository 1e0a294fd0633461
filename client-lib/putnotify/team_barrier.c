// SPDX-License-Identifier: BSD-3-Clause
// A dissemination barrier: after each round a member has received signals, directly or not, of
// twice as many others as before (Hensgen, Finkel and Manber, 1988).
#include "client-lib/putnotify/team_barrier.h"

#include "common/base/scope.h"
#include "client-lib/putnotify/put.h"
#include "client-lib/putnotify/team_parts.h"
#include "client-lib/putnotify/team_watch.h"
#include "client-lib/putnotify/window.h"

enum { ROUNDS = 6 }; // a signal for each
_Static_assert(1 << ROUNDS >= RGPU_MEMBERS_MAX, "the last round reaches all members");

enum rgpu_result team_barrier_open(struct rgpu_team *team)
{
    static const CUdeviceptr bases[RGPU_MEMBERS_MAX];
    static const size_t sizes[RGPU_MEMBERS_MAX];

    return window_make(team, bases, sizes, ROUNDS, &team->own);
}

static enum rgpu_result check_streams(struct rgpu_team *team, const CUstream *streams)
{
    enum rgpu_result result = RGPU_SUCCESS;

    for (int i = 0; i < team->local && !result; i++) {
        result = team_enter(team, team->first + i);
        if (result)
            return result;
        result = put_check_stream(team, team->first + i, streams[i]);
        team_leave();
    }
    return result;
}

// Member I of this process signals, or waits for the signal of this round.
static enum rgpu_result team_barrier_step(struct rgpu_team *team, int i, int round, bool waits,
                                          CUstream stream)
{
    int rank = team->first + i, distance = (1 << round) % team->size;
    enum rgpu_result result = team_enter(team, rank);

    if (result)
        return result;
    result =
        waits ? put_wait(team->own, rank, (rank + team->size - distance) % team->size, round, 1,
                         stream)
              : put_signal(team->own, rank, (rank + distance) % team->size, 0, 0, 0, round, stream);
    team_leave();
    return result;
}

// A step is queued for all members of this process before the next one, because it may wait for
// another member's earlier step.
static enum rgpu_result queue_rounds(struct rgpu_team *team, const CUstream *streams)
{
    enum rgpu_result result = RGPU_SUCCESS;

    for (int round = 0; 1 << round < team->size; round++)
        for (int waits = 0; waits < 2; waits++)
            for (int i = 0; i < team->local && !result; i++)
                result = team_barrier_step(team, i, round, waits, streams[i]);
    return result;
}

// A failure in the middle ends the team, because its members would wait for each other forever.
RGPU_PUBLIC enum rgpu_result rgpu_barrier_async(struct rgpu_team *team, const CUstream *streams)
{
    if (!team || !streams)
        return failure(RGPU_ERROR_INVALID, "rgpu_barrier_async: no team, or no streams");
    SCOPED_LOCK(&team->lock);
    enum rgpu_result result = team_is_usable(team);
    if (!result)
        result = check_streams(team, streams);
    if (result)
        return result;
    result = queue_rounds(team, streams);
    if (result)
        watch_lose(team, "a barrier could not be queued whole: %s", rgpu_error_text());
    return result;
}
