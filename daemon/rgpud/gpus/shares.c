// SPDX-License-Identifier: BSD-3-Clause
// Each reading of the figures is a turn. A lease with a debt is held back until the next reading.
#include "daemon/rgpud/gpus/shares.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "daemon/rgpud/gpus/gpu_time.h"
#include "daemon/rgpud/gpus/share_debt.h"
#include "daemon/rgpud/workers/worker_process.h"

static bool shares_serves(const struct worker_process *worker)
{
    return worker->state == WORKER_SERVING && worker->session.id;
}

static bool shares_meet(const struct session_grant *a, const struct session_grant *b)
{
    for (uint32_t i = 0; i < a->device_count; i++)
        if (device_is_granted(b, a->devices[i]))
            return true;
    return false;
}

// Returns true if the session made calls since the last reading or its kernels still run.
static bool wants_gpu(const struct worker_process *worker)
{
    const struct session_grant *grant = &worker->session.grant;
    bool busy = worker->session.stats.calls != worker->session.calls_counted;

    for (uint32_t i = 0; !busy && i < grant->device_count; i++)
        busy = worker->utilization[grant->devices[i] - worker->box->devices].value > 0;
    return busy;
}

static bool others_want(const struct box *box, const struct session_grant *grant)
{
    const struct worker_process *other;

    TAILQ_FOREACH(other, &box->workers, link)
        if (shares_serves(other) && strcmp(other->session.grant.lease, grant->lease) &&
            shares_meet(&other->session.grant, grant) && wants_gpu(other))
            return true;
    return false;
}

static void shares_hold(struct worker_process *worker, bool held)
{
    const struct control_hold order = {.held = held};

    if (worker->held_back == held)
        return;
    worker->held_back = held;
    if (control_send_packet(worker->control_fd, CONTROL_HOLD, &order, -1))
        worker_process_kill(worker, "does not hear that it is held back");
}

static void shares_settle(struct worker_process *worker, struct gpu_time *time, int64_t elapsed_us)
{
    const struct session_grant *grant = &worker->session.grant;
    const struct share_turn turn = {.elapsed_us = elapsed_us,
                                    .used_us = (int64_t)(time->microseconds - time->settled),
                                    .gpus = grant->device_count,
                                    .percent = grant->time_share,
                                    .wanted = others_want(worker->box, grant)};
    int64_t debt = share_debt(time->debt_us, &turn);

    if (!time->debt_us != !debt)
        log_debug("lease=%s share=%u%% debt_us=%lld was=%lld", grant->lease, grant->time_share,
                  (long long)debt, (long long)time->debt_us);
    time->debt_us = debt;
    time->settled = time->microseconds;
}

void shares_review(struct box *box, bool nothing_known)
{
    int64_t now = clock_ms(), elapsed_us = (now - box->shares_ms) * 1000;
    struct worker_process *worker;
    struct gpu_time *time;

    // The first session of a lease settles its debt for all of them.
    TAILQ_FOREACH(time, &box->gpu_times, link)
        time->open = box->shares_ms != 0;
    TAILQ_FOREACH(worker, &box->workers, link) {
        if (!shares_serves(worker) || !worker->session.grant.time_share)
            continue;
        time = gpu_time_find(box, worker->session.grant.lease);
        if (time && time->open)
            shares_settle(worker, time, elapsed_us);
        if (time)
            time->open = false;
        shares_hold(worker, !nothing_known && time && time->debt_us);
    }
    box->shares_ms = nothing_known ? 0 : now;
}

unsigned shares_held(const struct box *box, const struct box_device *device)
{
    const struct worker_process *worker;
    unsigned count = 0;

    TAILQ_FOREACH(worker, &box->workers, link)
        count += worker->held_back && shares_serves(worker) &&
                 (!device || device_is_granted(&worker->session.grant, device));
    return count;
}
