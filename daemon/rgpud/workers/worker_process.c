// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/workers/worker_process.h"

#include <errno.h>
#include <stdio.h>

#include "common/base/assert.h"
#include "common/base/log.h"
#include "daemon/rgpud/workers/mps_daemon.h"
#include "daemon/rgpud/box/spawner_client.h"
#include "daemon/rgpud/workers/warm_pool.h"

static const char *const state_names[] = {
    [WORKER_STARTING] = "starting", [WORKER_WARM] = "warm", [WORKER_SERVING] = "serving",
    [WORKER_ENDING] = "ending",     [WORKER_DEAD] = "dead",
};

const char *worker_state_name(enum worker_state state)
{
    return state_names[state];
}

struct worker_process *worker_process_find(const struct box *box, pid_t pid)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->pid == pid)
            return worker;
    return NULL;
}

struct worker_process *worker_process_of_session(const struct box *box, uint64_t session)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->session.id == session)
            return worker;
    return NULL;
}

void worker_process_count(struct worker_process *worker, int direction)
{
    struct warm_pool *pool = warm_pool_of(worker->box, worker->device);

    switch (worker->state) {
    case WORKER_STARTING: pool->starting += (unsigned)direction; break;
    case WORKER_WARM: pool->warm += (unsigned)direction; break;
    case WORKER_ENDING:
        // The worker keeps its slot until the reason of its end is known: a failure delays the next
        // start.
        if (!worker->session.id && !worker->asked_to_end)
            pool->dying += (unsigned)direction;
        break;
    case WORKER_SERVING:
    case WORKER_DEAD: break;
    }
}

void worker_process_move(struct worker_process *worker, enum worker_state state)
{
    RGPU_ASSERT(worker->state != WORKER_DEAD);
    log_debug("worker pid=%d state=%s was=%s", (int)worker->pid, state_names[state],
              state_names[worker->state]);
    worker_process_count(worker, -1);
    worker->state = state;
    worker_process_count(worker, +1);
}

void worker_process_set_timer(struct worker_process *worker, uint64_t microseconds)
{
    struct timeval delay = {.tv_sec = (time_t)(microseconds / 1000000),
                            .tv_usec = (suseconds_t)(microseconds % 1000000)};

    if (worker->deadline)
        evtimer_add(worker->deadline, &delay);
}

void worker_end(struct worker_process *worker, enum control_end_reason reason, const char *text)
{
    struct control_end end = {.reason = reason};

    if (worker->state == WORKER_ENDING || worker->state == WORKER_DEAD)
        return;
    snprintf(end.text, sizeof(end.text), "%s", text);
    // A worker that does not receive it is killed after the grace time. One that has died before
    // failed by itself.
    int err = control_send_packet(worker->control_fd, CONTROL_END, &end, -1);
    if (err)
        log_debug("worker pid=%d does not take the request to end", (int)worker->pid);
    worker->asked_to_end = err != -EPIPE && err != -ECONNRESET;
    if (worker->asked_to_end)
        snprintf(worker->reason, sizeof(worker->reason), "%s", text);
    worker_process_move(worker, WORKER_ENDING);
    worker_process_set_timer(worker, worker->box->settings.worker_stop_grace);
}

void worker_process_kill(struct worker_process *worker, const char *reason)
{
    if (!*worker->reason)
        snprintf(worker->reason, sizeof(worker->reason), "%s", reason);
    if (worker->state != WORKER_ENDING)
        worker_process_move(worker, WORKER_ENDING);
    // Under MPS, killing the worker directly would end other clients too.
    if (!worker->mps || !worker->pid || !mps_terminate(worker->device, worker->pid))
        spawner_end(worker->box, worker->number);
}

void worker_process_late(evutil_socket_t fd, short events, void *argument)
{
    struct worker_process *worker = argument;

    if (worker->state == WORKER_STARTING)
        worker_process_kill(worker, "not ready within worker_start_timeout");
    else if (worker->state == WORKER_ENDING)
        worker_process_kill(worker, "did not end when asked to");
    else if (worker->session.ended)
        worker_process_kill(worker, "the GPU was busy for it when its session ended");
}

struct worker_process *worker_find_warm(struct box *box, const struct box_device *device,
                                        device_set sees, struct mps_part part)
{
    struct worker_process *worker;

    // Workers whose MPS server is lost cannot serve.
    if (mps_holds_up(device, sees))
        return NULL;
    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->state == WORKER_WARM && worker->device == device && worker->sees == sees &&
            mps_part_equal(worker->part, part) && worker->mps == mps_serves(device, sees))
            return worker;
    return NULL;
}
