// The box as a whole: its state, and what follows when something changed.
#include "daemon/box.h"

#include <stdio.h>

#include "common/log.h"
#include "daemon/broker_agent.h"
#include "daemon/client.h"
#include "daemon/worker.h"

static const char *const state_names[] = {
    [BOX_STARTING] = "starting", [BOX_SERVING] = "serving",   [BOX_DRAINING] = "draining",
    [BOX_LEAVING] = "leaving",   [BOX_STOPPING] = "stopping",
};

const char *box_state_name(enum box_state state)
{
    return state_names[state];
}

bool box_accepts_sessions(const struct box *box)
{
    return box->state == BOX_STARTING || box->state == BOX_SERVING;
}

static void stop_all_workers(struct box *box)
{
    struct worker *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        worker_end(worker, CONTROL_END_REASON_SHUTDOWN, "the box stops");
}

void box_move(struct box *box, enum box_state state)
{
    if (box->state == state)
        return;
    log_info("box state=%s was=%s sessions=%u", state_names[state], state_names[box->state],
             box->session_count);
    box->state = state;
    notify_state(box);
    switch (state) {
    case BOX_STARTING:
    case BOX_SERVING:
        return;
    case BOX_DRAINING:
    case BOX_LEAVING:
        client_refuse_all(box, CONTROL_REFUSAL_DRAINING,
                          "the box takes no new sessions (it is being drained); use another one");
        pool_stop_warm(box);
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

// Run by hand, a box whose workers do not start should say so and end rather than keep trying.
static bool must_give_up(const struct box *box)
{
    return box->standalone && !box->devices_known && pool_is_broken(&box->probe);
}

void box_review(struct box *box)
{
    if (box->state == BOX_STARTING && box->devices_known) {
        box_move(box, BOX_SERVING);
        announce_ready(box);
    }
    client_serve_queue(box);
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
