// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/lifecycle.h"

#include <stdio.h>

#include "common/base/log.h"
#include "daemon/rgpud/broker/broker_agent.h"
#include "daemon/rgpud/box/client.h"
#include "daemon/rgpud/suspension/lease_places.h"
#include "daemon/rgpud/box/listeners.h"
#include "daemon/rgpud/gpus/network_shares.h"
#include "daemon/rgpud/sharing/moves.h"
#include "daemon/rgpud/workers/mps_daemon.h"
#include "daemon/rgpud/box/notify.h"
#include "daemon/rgpud/sharing/overcommit.h"
#include "daemon/rgpud/refill.h"
#include "daemon/rgpud/supervision/kept_session.h"
#include "daemon/rgpud/suspension/suspension_orders.h"
#include "daemon/rgpud/takeover.h"
#include "daemon/rgpud/clients/waiting_clients.h"
#include "daemon/rgpud/workers/warm_pool.h"
#include "daemon/rgpud/workers/worker_process.h"

static void stop_all_workers(struct box *box)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        worker_end(worker, CONTROL_END_REASON_SHUTDOWN, "the box stops");
}

void lifecycle_move(struct box *box, enum box_state state)
{
    if (box->state == state)
        return;
    log_info("box state=%s was=%s sessions=%u", box_state_name(state), box_state_name(box->state),
             box->session_count);
    box->state = state;
    notify_state(box);
    switch (state) {
    case BOX_STARTING:
    case BOX_SERVING: return;
    case BOX_DRAINING:
    case BOX_LEAVING:
        client_refuse_all(box, CONTROL_REFUSAL_DRAINING,
                          "the box takes no new sessions (it is being drained); use another one");
        refill_stop_warm(box);
        return;
    case BOX_STOPPING:
        client_refuse_all(box, CONTROL_REFUSAL_DRAINING, "the box stops; use another one");
        stop_all_workers(box);
        return;
    }
}

static void announce_ready(struct box *box)
{
    char listen[1024];

    listeners_text(box, listen, sizeof(listen));
    printf("rgpud: ready listen=%s devices=%u box=%s auth=%s\n", listen, box->device_count,
           box->name, box->settings.auth == AUTH_TICKET ? "ticket" : "none");
    fflush(stdout);
    log_info("ready listen=%s devices=%u box=%s", listen, box->device_count, box->name);
}

// Returns true if a box that has not served yet should report the error and exit instead of
// retrying: a standalone one that cannot start its workers, since a person started it, and any
// whose worker is of another build, since another attempt would end in the same way.
static bool must_give_up(const struct box *box)
{
    return !box->devices_known &&
           (box->other_build || (box->standalone && warm_pool_is_broken(&box->probe)));
}

static void end_clients_of_mps(struct box *box)
{
    struct worker_process *worker;
    char text[256];

    for (uint32_t i = 0; i < box->device_count; i++)
        if (mps_says_farewell(&box->devices[i], text, sizeof(text)))
            TAILQ_FOREACH(worker, &box->workers, link)
                if (worker->mps && worker->device == &box->devices[i])
                    worker_end(worker, CONTROL_END_REASON_DEVICE_LOST, text);
}

void lifecycle_review(struct box *box)
{
    if (box->state == BOX_STARTING && box->devices_known) {
        places_load(box);
        takeover_sessions(box);
        lifecycle_move(box, BOX_SERVING);
        announce_ready(box);
    }
    mps_review(box);
    end_clients_of_mps(box);
    moves_review(box);
    suspension_review(box);
    overcommit_review(box);
    waiting_serve(box);
    kept_session_review(box);
    network_shares_review(box);
    refill_pools(box);
    broker_agent_review(box);
    if (must_give_up(box)) {
        log_error("giving up: workers do not start, reason=\"%s\"", box->probe.last_error);
        box->exit_status = 1;
        event_base_loopbreak(box->base);
    }
    bool leaving = box->state == BOX_LEAVING || box->state == BOX_STOPPING;
    if (leaving && TAILQ_EMPTY(&box->workers))
        event_base_loopbreak(box->base);
}
