// SPDX-License-Identifier: BSD-3-Clause
// A record is checked like a stranger's message: GPUs must exist, budgets must fit, and no two
// sessions may contradict each other. What fails a check is ended, with the reason in the log and
// for the program.
#include "daemon/rgpud/takeover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/box/listeners.h"
#include "daemon/rgpud/box/spawner_client.h"
#include "daemon/rgpud/broker/broker_agent.h"
#include "daemon/rgpud/clients/admission.h"
#include "daemon/rgpud/gpus/accounts.h"
#include "daemon/rgpud/gpus/exported_kept.h"
#include "daemon/rgpud/supervision/kept_session.h"
#include "daemon/rgpud/supervision/worker_life.h"
#include "daemon/rgpud/suspension/lease_places.h"
#include "daemon/rgpud/suspension/suspension_orders.h"
#include "daemon/rgpud/workers/exclusion.h"
#include "daemon/rgpud/workers/mps_daemon.h"

enum { ABANDON_MS = 10000 };

// ---- checks; each returns NULL, or why the session cannot go on ----

static struct box_device *takeover_find_device(struct box *box, const char *uuid)
{
    for (uint32_t i = 0; i < box->device_count; i++)
        if (!strcmp(box->devices[i].uuid, uuid))
            return &box->devices[i];
    return NULL;
}

static const char *take_device(struct box *box, const struct control_kept_device *kept,
                               struct session_grant *grant)
{
    struct box_device *device = takeover_find_device(box, kept->uuid);
    uint32_t i = grant->device_count;

    grant->named[i] = takeover_find_device(box, kept->named);
    if (!device || !grant->named[i])
        return "the box no longer offers its GPU";
    if (device_is_granted(grant, device))
        return "its record names a GPU twice";
    if (kept->budget > device->info.memory || kept->context_cost > device->info.memory)
        return "its record names more memory than its GPU has";
    grant->devices[i] = device;
    grant->ordinals[i] = kept->ordinal;
    grant->budgets[i] = kept->budget;
    grant->exclusive[i] = kept->exclusive;
    grant->device_count++;
    return NULL;
}

static const char *take_grant(struct box *box, const struct control_kept_session *kept,
                              struct session_grant *grant)
{
    const char *problem = NULL;

    *grant = (struct session_grant){.epoch = (int64_t)kept->epoch,
                                    .owner = (int64_t)kept->owner,
                                    .part = {kept->compute, kept->memory_limit},
                                    .time_share = kept->time_share,
                                    .bandwidth = kept->bandwidth};
    snprintf(grant->lease, sizeof(grant->lease), "%s", kept->lease);
    for (uint32_t i = 0; i < kept->devices_count && !problem; i++)
        problem = take_device(box, &kept->devices[i], grant);
    if (!problem && !grant->device_count)
        problem = "its record names no GPU";
    if (problem)
        grant->device_count = 0;
    return problem;
}

static const char *check_number(const struct box *box, uint64_t session)
{
    if (!session)
        return "its record has no number";
    return worker_process_of_session(box, session) ? "another session has its number" : NULL;
}

static const char *takeover_check(const struct control_kept_session *kept)
{
    if (kept->list != CONTROL_SESSION_DIGEST)
        return "its worker is of another release than rgpud";
    return *kept->obstacle ? kept->obstacle : NULL;
}

// ---- taking over ----

static const char *take_account(struct box *box, const struct control_kept_session *kept,
                                const struct session_grant *grant, const int *account)
{
    for (uint32_t i = 0; i < grant->device_count && !account; i++)
        if (grant->budgets[i])
            return "its budget has no account";
    if (account && accounts_take_over(box, grant, kept->session, kept->account_first, account))
        return "its account cannot be read";
    return NULL;
}

static void fill_record(const struct control_kept_session *kept, struct session_record *session)
{
    session->id = kept->session;
    session->client_pid = kept->client_pid;
    session->protection = kept->protection;
    session->since_ms = (int64_t)kept->since_ms < clock_ms() ? (int64_t)kept->since_ms : clock_ms();
    session->waited = kept->waited;
    memcpy(session->client_boot_id, kept->client_boot_id, sizeof(session->client_boot_id));
    snprintf(session->client, sizeof(session->client), "%s", kept->client);
    snprintf(session->peer, sizeof(session->peer), "%s", kept->peer);
}

static void takeover_calls(struct worker_process *worker, const struct control_kept_session *kept)
{
    worker->resumes =
        (struct expected_call){.open = kept->resumes, .number = CONTROL_RESUME_NUMBER};
    memcpy(worker->resumes.token, kept->resume_token, sizeof(worker->resumes.token));
    for (uint32_t i = 0; i < kept->expects_count; i++) {
        struct expected_call *call = &worker->expects[worker->next_expected++ % EXPECTED_CALLS_MAX];
        *call = (struct expected_call){.open = true, .number = kept->expects[i].number};
        memcpy(call->token, kept->expects[i].token, sizeof(call->token));
    }
}

// GPUs that an administrator's move has given the lease are in no other place.
static void takeover_places(const struct worker_process *worker)
{
    const struct session_grant *grant = &worker->session.grant;
    struct box *box = worker->box;

    for (uint32_t i = 0; *grant->lease && i < grant->device_count; i++)
        if (places_device(box, grant->lease, grant->ordinals[i], grant->named[i]) !=
                grant->devices[i] &&
            !places_put(box, grant->lease, grant->ordinals[i], grant->devices[i], false))
            log_warn("lease=%s has moved, which later sessions will not know", grant->lease);
}

// The figure was measured when the GPU was less busy.
static void take_context_costs(const struct worker_process *worker,
                               const struct control_kept_session *kept)
{
    for (uint32_t i = 0; i < worker->session.grant.device_count; i++) {
        struct box_device *device = worker->session.grant.devices[i];
        if (kept->devices[i].context_cost) {
            device->info.context_cost = kept->devices[i].context_cost;
            device->measured = true;
        }
    }
}

static void take_ticket(struct box *box, const struct control_kept_session *kept)
{
    uint8_t secret[SHA256_SIZE];
    SCOPED_FREE struct ticket *ticket = malloc(sizeof(*ticket));

    if (ticket && *kept->ticket &&
        !admission_recompute(box, kept->ticket, strlen(kept->ticket), secret, ticket) &&
        !strcmp(ticket->lease, kept->lease))
        broker_agent_note(box, ticket, kept->ticket);
    explicit_bzero(secret, sizeof(secret));
}

// Tells the worker, which gets the rules of its account that this rgpud can write, and whether its
// PAUSE lasts.
static int takeover_greet(const struct worker_process *worker, uint32_t pause)
{
    uint64_t first;
    const int *account =
        accounts_descriptors(worker->box, worker->session.grant.lease, worker->session.id, &first);
    const struct control_taken_over taken = {.account = account != NULL, .pause = pause};

    return control_send_packet(worker->control_fd, CONTROL_TAKEN_OVER, &taken,
                               account ? account[1] : -1);
}

static void go_on(struct worker_process *worker, const struct control_kept_session *kept)
{
    struct box *box = worker->box;

    worker->has_moved = kept->moved;
    worker->session.ticket = *kept->ticket ? strdup(kept->ticket) : NULL;
    snprintf(worker->socket, sizeof(worker->socket), "%s", kept->socket);
    takeover_calls(worker, kept);
    takeover_places(worker);
    take_context_costs(worker, kept);
    take_ticket(box, kept);
    log_info("session=%llu is taken over pid=%d client=\"%s\" lease=%s",
             (unsigned long long)worker->session.id, (int)worker->pid, worker->session.client,
             *kept->lease ? kept->lease : "none");
    bool away = kept->pause && !suspension_take_over(worker, kept);
    if (kept->deep && !away)
        worker_process_kill(worker, "is suspended in a way that cannot be taken over");
    else if (takeover_greet(worker, away ? kept->pause : 0))
        worker_process_kill(worker, "does not hear of the next rgpud");
    worker->unkept = true;
}

// A worker of another release that does not understand the message is killed after
// worker_stop_grace.
static void give_up(struct box *box, struct spawner_kept *kept,
                    const struct session_record *session, const char *problem)
{
    struct worker_process *worker;
    char text[320];

    log_warn("session=%llu is not taken over pid=%d reason=\"%s\"", (unsigned long long)session->id,
             (int)kept->pid, problem);
    // Without its record no message to the worker is understood either.
    if (!session->id) {
        spawner_end(box, kept->number);
        return;
    }
    worker = worker_take_over(box, &box->devices[0], kept, -1, false, session);
    snprintf(text, sizeof(text), "the box's daemon was restarted, and %.200s", problem);
    if (worker)
        worker_end(worker, CONTROL_END_REASON_SHUTDOWN, text);
}

// Returns NULL with the session, or why it cannot go on. If its number is known, it has its part of
// the account until its worker ends.
static const char *examine(struct box *box, const struct spawner_kept *kept,
                           struct control_kept_session *record, struct session_record *session,
                           int *filter)
{
    const int *account = NULL;

    if (kept_session_load(kept, record, &account, filter))
        return "its record cannot be read";
    const char *problem = check_number(box, record->session);
    if (problem)
        return problem;
    fill_record(record, session);
    const char *of_grant = take_grant(box, record, &session->grant);
    const char *of_account = take_account(box, record, &session->grant, account);
    problem = takeover_check(record) ?: of_grant ?: of_account;
    if (!problem && record->mps && !session->grant.devices[0]->mps)
        problem = "its MPS daemon is gone";
    if (!problem && exclusion_find(box, &session->grant))
        problem = "another lease has its GPU for itself";
    if (problem)
        session->grant.device_count = 0;
    return problem;
}

static void take_one(struct box *box, struct spawner_kept *kept)
{
    SCOPED_FREE struct control_kept_session *record = calloc(1, sizeof(*record));
    SCOPED_FREE struct session_record *session = calloc(1, sizeof(*session));
    int filter = -1;

    if (!record || !session)
        return;
    const char *problem = examine(box, kept, record, session, &filter);
    if (problem) {
        give_up(box, kept, session, problem);
    } else {
        struct worker_process *worker =
            worker_take_over(box, session->grant.devices[0], kept, filter, record->mps, session);
        if (worker)
            go_on(worker, record);
        else
            accounts_leave(box, session->grant.lease, session->id);
    }
    if (session->id >= box->next_session)
        box->next_session = session->id + 1;
    explicit_bzero(record, sizeof(*record));
}

// Sessions that are clients of MPS need their daemon.
static void takeover_mps(struct box *box)
{
    const struct spawner_kept *kept;

    TAILQ_FOREACH(kept, spawner_list_kept(box), link)
        if (kept->kind == SPAWNER_MPS)
            mps_take_over(box, kept);
}

void takeover_sessions(struct box *box)
{
    struct spawner_kept *kept;
    bool any = false;

    takeover_mps(box);
    while ((kept = spawner_take_kept(box))) {
        // The spawner lists processes first.
        if (kept->kind == SPAWNER_WORKER)
            take_one(box, kept);
        else if (!kept->kind)
            exports_take_over(box, kept);
        any = true;
        spawner_kept_free(&kept);
    }
    if (!any)
        return;
    accounts_settle(box);
    listeners_hold(box, false);
}

void takeover_abandon(struct box *box)
{
    int64_t deadline = clock_ms() + ABANDON_MS;
    struct spawner_kept *kept;

    while (box->spawner && (kept = spawner_take_kept(box))) {
        if (kept->number >= SPAWNER_PROCESSES) {
            spawner_end(box, kept->number);
            if (!spawner_await(box, kept->number, deadline))
                log_error("worker pid=%d of an earlier rgpud does not end", (int)kept->pid);
        }
        spawner_kept_free(&kept);
    }
}
