// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/team_parts.h"

enum rgpu_result team_is_usable(const struct rgpu_team *team)
{
    return team->lost ? failure(RGPU_ERROR_LOST, "%s", team->why) : RGPU_SUCCESS;
}

enum rgpu_result team_enter(const struct rgpu_team *team, int rank)
{
    return DRIVER(cuCtxPushCurrent_v2(team->members[rank].context));
}

void team_leave(void)
{
    CUcontext was;
    cuCtxPopCurrent_v2(&was);
}

enum rgpu_result team_retain(struct rgpu_team *team, int rank)
{
    struct team_member *member = &team->members[rank];
    if (member->retained)
        return RGPU_SUCCESS;
    enum rgpu_result result = DRIVER(cuDevicePrimaryCtxRetain(&member->context, member->device));
    member->retained = !result;
    if (!result)
        result = team_enter(team, rank);
    if (result)
        return result;
    result = DRIVER(cuStreamCreate(&member->own, CU_STREAM_NON_BLOCKING));
    team_leave();
    return result;
}
