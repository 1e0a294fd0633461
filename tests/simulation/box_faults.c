// SPDX-License-Identifier: BSD-3-Clause
// Faults that a box reports to the broker (daemon/rgpud/gpus/health.h): of its GPUs and sessions.
#include "tests/simulation/box_faults.h"

#include "daemon/rgpud/gpus/health.h"

json_t *health_report(struct box *box)
{
    struct simulated_box *self = box_with_name(box->name);
    json_t *list = json_array();

    for (unsigned i = 0; i < self->gpu_count; i++) {
        struct simulated_gpu *gpu = &self->gpus[i];
        gpu->fault_reported = gpu->fault;
        if (gpu->fault)
            json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "uuid", gpu->uuid, "reason",
                                                  gpu->fault, "force", gpu->fault_ends_leases));
    }
    return list;
}

void health_reported(struct box *box)
{
    struct simulated_box *self = box_with_name(box->name);

    for (unsigned i = 0; i < self->gpu_count; i++)
        if (self->gpus[i].fault_reported)
            self->gpus[i].fault = NULL;
}

void health_adopt(struct box *box, const json_t *drained)
{
    (void)box;
    (void)drained;
}

void box_break_gpu(struct simulated_box *self, struct dice *dice)
{
    static const char *const reasons[] = {"Xid 79", "2 uncorrectable errors"};
    struct simulated_gpu *gpu = &self->gpus[dice_below(dice, self->gpu_count)];

    gpu->fault = reasons[dice_below(dice, 2)];
    gpu->fault_ends_leases = dice_chance(dice, 500);
    world_trace("GPU %s has a fault", gpu->uuid);
    if (!self->box)
        return;
    self->box->faults++;
    box_changed(self->box);
}

void box_break_session(struct simulated_box *self)
{
    struct worker_process *worker = self->box ? TAILQ_FIRST(&self->box->workers) : NULL;

    if (!worker || worker->state == WORKER_ENDING)
        return;
    failed_sessions_add(&self->box->failed, worker->session.id, worker->session.grant.lease,
                        "killed by signal 11", "Xid 31");
    box_close_session(self, worker->session.id);
}

void box_take_sessions(struct simulated_box *self, bool takes)
{
    if (!self->box)
        return;
    self->box->state = takes ? BOX_SERVING : BOX_DRAINING;
    box_changed(self->box);
}

void box_mend(struct simulated_box *self)
{
    for (unsigned i = 0; i < self->gpu_count; i++)
        self->gpus[i].fault = NULL;
    self->stuck = self->forged = false;
    box_take_sessions(self, true);
}
