// SPDX-License-Identifier: BSD-3-Clause
// A correct worker charges its account before it allocates and after it frees. Its account is
// therefore never below the driver's figure, except for memory that accounts omit
// (memory_tolerance) and for changes between the two readings. Therefore two rounds must agree.
#include "daemon/rgpud/gpus/comparison.h"

#include <string.h>

#include "common/base/log.h"
#include "daemon/rgpud/box/spawner_client.h"
#include "daemon/rgpud/gpus/accounts.h"
#include "daemon/rgpud/workers/mps_daemon.h"
#include "daemon/rgpud/workers/worker_process.h"

// Returns true at the second, fourth, eighth ... round.
static bool comparison_is_due(unsigned rounds)
{
    return rounds >= 2 && !(rounds & (rounds - 1));
}

static bool exceeds(const struct box *box, uint64_t more, uint64_t less)
{
    return more > less && more - less > box->settings.memory_tolerance;
}

// Returns the memory of an idle worker: the measured cost, or the driver's figure if that is
// higher.
static uint64_t context_bytes(const struct box_device *device)
{
    return device->idle_bytes > device->info.context_cost ? device->idle_bytes
                                                          : device->info.context_cost;
}

static bool comparison_has_budget(const struct session_grant *grant,
                                  const struct box_device *device)
{
    for (uint32_t i = 0; i < grant->device_count; i++)
        if (grant->devices[i] == device)
            return grant->budgets[i] != 0;
    return false;
}

// ---- one process ----

static void compare_session(struct worker_process *worker, const struct box_device *device,
                            uint64_t driver)
{
    const struct session_record *session = &worker->session;
    const struct box *box = worker->box;
    unsigned *rounds = &worker->differs[device - box->devices];
    bool counted;
    uint64_t account;

    if (!comparison_has_budget(&session->grant, device) ||
        !accounts_read(box, session->grant.lease, session->id, device->ordinal, &account, &counted))
        return;
    bool away = worker->pause.away;
    uint64_t allowed = away ? worker->pause.rest : account + (counted ? 0 : context_bytes(device));
    bool more = exceeds(box, driver, allowed), less = !away && exceeds(box, allowed, driver);
    *rounds = more || less ? *rounds + 1 : 0;
    if (comparison_is_due(*rounds))
        log_at(
            more ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
            "session=%llu lease=%s pid=%d gpu=%u: %s driver=%llu account=%llu with_context=%llu rounds=%u",
            (unsigned long long)session->id, session->grant.lease, (int)worker->pid,
            device->ordinal,
            more ? "the driver says that the process has more memory than its account"
                 : "the account has more memory than the driver says",
            (unsigned long long)driver, (unsigned long long)account, (unsigned long long)allowed,
            *rounds);
}

static void comparison_take_process(struct worker_process *worker, struct box_device *device,
                                    uint64_t bytes)
{
    if (worker->state == WORKER_WARM && worker->device == device && bytes > device->idle_bytes)
        device->idle_bytes = bytes;
    if (worker->session.id)
        compare_session(worker, device, bytes);
}

// ---- one GPU ----

struct tally {
    uint64_t processes, foreign; // bytes of all processes, and of processes that are not ours
    pid_t stranger;              // one of the foreign processes
    bool ours;                   // some processes are our workers
};

static void compare_foreign(struct box_device *device, const struct tally *tally)
{
    device->foreign_rounds = exceeds(device->box, tally->foreign, 0) ? device->foreign_rounds + 1
                                                                     : 0;
    if (comparison_is_due(device->foreign_rounds))
        log_warn(
            "gpu=%u: memory is taken by processes that are not this box's bytes=%llu pid=%d; what the "
            "broker grants of this GPU may not be there",
            device->ordinal, (unsigned long long)tally->foreign, (int)tally->stranger);
}

// Computes the most that our workers may hold of the device. Returns false if any of them has no
// account.
static bool expected_of_workers(const struct box_device *device, uint64_t *sum)
{
    const struct box *box = device->box;
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link) {
        uint64_t account = 0;
        bool counted = false, uses = worker->device == device;
        const struct session_grant *grant = &worker->session.grant;
        for (uint32_t i = 0; worker->session.id && i < grant->device_count; i++) {
            if (grant->devices[i] != device)
                continue;
            uses = true;
            if (!grant->budgets[i] || !accounts_read(box, grant->lease, worker->session.id,
                                                     device->ordinal, &account, &counted))
                return false;
        }
        if (uses && worker->pause.away)
            *sum += worker->pause.rest;
        else if (uses)
            *sum += account + (counted ? 0 : context_bytes(device));
    }
    return true;
}

// Audits one GPU. Memory from before the first worker stays attributed to its owners. The rest
// belongs to the processes that the driver lists or, if it lists none, to our workers.
static void compare_gpu(struct box_device *device, const struct monitor_gpu *gpu,
                        const struct tally *tally)
{
    uint64_t expected = device->taken_before + tally->processes;

    if (tally->ours)
        compare_foreign(device, tally);
    else if (!expected_of_workers(device, &expected))
        return;
    device->differing_rounds =
        exceeds(device->box, gpu->used, expected) ? device->differing_rounds + 1 : 0;
    if (comparison_is_due(device->differing_rounds))
        log_warn(
            "gpu=%u: the driver says that more memory is taken than %s driver=%llu expected=%llu "
            "before=%llu rounds=%u",
            device->ordinal,
            tally->ours ? "its processes have" : "the accounts and contexts of all sessions",
            (unsigned long long)gpu->used, (unsigned long long)expected,
            (unsigned long long)device->taken_before, device->differing_rounds);
}

static void comparison_take_gpu(struct box_device *device, const struct monitor_round *round,
                                unsigned index)
{
    const struct monitor_gpu *gpu = &round->gpus[index];
    struct tally tally = {0};

    for (unsigned i = 0; i < round->process_count; i++) {
        const struct monitor_process *process = &round->processes[i];
        if (process->gpu != index)
            continue;
        struct worker_process *worker = worker_process_find(device->box, process->pid);
        tally.processes += process->used;
        if (worker) {
            tally.ours = true;
            comparison_take_process(worker, device, process->used);
        } else if (!mps_has_process(device, process->pid)) {
            tally.foreign += process->used;
            tally.stranger = process->pid;
        }
    }
    compare_gpu(device, gpu, &tally);
}

// Figures from before the first worker, when the box has no devices yet. They are found by UUID.
static struct monitor_round before;

// Sessions of an earlier rgpud have accounts, as soon as they are taken over.
static void leave_out_kept(const struct box *box, struct monitor_round *round)
{
    const struct spawner_kept *kept;

    TAILQ_FOREACH(kept, spawner_list_kept(box), link)
        for (unsigned i = 0; i < round->process_count; i++) {
            const struct monitor_process *process = &round->processes[i];
            uint64_t *used = &round->gpus[process->gpu].used;
            if (process->pid == kept->pid || mps_kept_has_process(kept, process->pid))
                *used -= process->used < *used ? process->used : *used;
        }
}

static uint64_t taken_before(const char *uuid)
{
    for (unsigned i = 0; i < before.gpu_count; i++)
        if (!strcmp(before.gpus[i].uuid, uuid))
            return before.gpus[i].used;
    return 0;
}

void comparison_take(struct box *box, const struct monitor_round *round)
{
    if (!box->devices_known && TAILQ_EMPTY(&box->workers)) {
        before = *round;
        leave_out_kept(box, &before);
    }
    log_debug("the driver's figures gpus=%u processes=%u", round->gpu_count, round->process_count);
    for (uint32_t i = 0; i < box->device_count; i++) {
        struct box_device *device = &box->devices[i];
        for (unsigned j = 0; j < round->gpu_count; j++) {
            if (strcmp(round->gpus[j].uuid, device->uuid) != 0)
                continue;
            device->taken_before = taken_before(device->uuid);
            comparison_take_gpu(device, round, j);
        }
    }
}
