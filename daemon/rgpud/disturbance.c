// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/disturbance.h"

static const char *what_is_busy(const struct disturbance *now)
{
    if (now->crowded)
        return "many clients came at once";
    if (now->utilization.known && now->utilization.value >= now->busy_gpu)
        return "the GPU is busy";
    if ((int64_t)now->running * 100 >= (int64_t)now->processors * now->busy_processors)
        return "the processors are busy";
    return NULL;
}

enum pace disturbance_pace(const struct disturbance *now, const char **why)
{
    const char *busy = now->sessions ? what_is_busy(now) : NULL;

    *why = NULL;
    // Waiting clients have workers started for them; other starts would slow those down. A single
    // one is probably followed by the next, for which a worker is begun beside its own: the driver
    // makes two contexts in less time than one after the other.
    if (now->waiting > 1) {
        *why = "clients wait for workers of their own";
        return PACE_NONE;
    }
    if (!now->sessions)
        return now->waiting ? PACE_ONE : PACE_MANY;
    if (busy && now->short_us < now->timeout_us) {
        *why = busy;
        return PACE_NONE;
    }
    return PACE_ONE;
}
