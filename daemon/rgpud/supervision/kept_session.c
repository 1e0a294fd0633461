// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/supervision/kept_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/box/spawner_client.h"
#include "daemon/rgpud/gpus/accounts.h"
#include "daemon/rgpud/suspension/suspension.h"
#include "daemon/rgpud/workers/refusals.h"

// ---- storing ----

// Returns the reason why the next rgpud cannot take the session over; "": it can. The state behind
// these reasons is only in this rgpud.
static const char *obstacle_of(const struct worker_process *worker)
{
    const struct suspension *s = suspension_of(worker);

    if (s && suspension_needs_driver(s) && suspension_moves(s, worker))
        return "its lease was being moved to another GPU";
    return worker->window ? "its client is in a virtual machine" : "";
}

static void kept_put_devices(const struct session_grant *grant, struct control_kept_session *out)
{
    out->devices_count = grant->device_count;
    for (uint32_t i = 0; i < grant->device_count; i++) {
        const struct box_device *device = grant->devices[i];
        struct control_kept_device *kept = &out->devices[i];
        snprintf(kept->uuid, sizeof(kept->uuid), "%s", device->uuid);
        snprintf(kept->named, sizeof(kept->named), "%s", grant->named[i]->uuid);
        kept->ordinal = grant->ordinals[i];
        kept->budget = grant->budgets[i];
        kept->exclusive = grant->exclusive[i];
        kept->context_cost = device->measured ? device->info.context_cost : 0;
    }
}

static void kept_put_calls(const struct worker_process *worker, struct control_kept_session *out)
{
    out->resumes = worker->resumes.open;
    memcpy(out->resume_token, worker->resumes.token, sizeof(out->resume_token));
    for (unsigned i = 0; i < EXPECTED_CALLS_MAX; i++) {
        const struct expected_call *call = &worker->expects[i];
        if (!call->open)
            continue;
        struct control_kept_call *kept = &out->expects[out->expects_count++];
        kept->number = call->number;
        memcpy(kept->token, call->token, sizeof(kept->token));
    }
}

static void kept_put_suspension(const struct worker_process *worker,
                                struct control_kept_session *out)
{
    const struct suspension *s = suspension_of(worker);

    if (!s || (s->state != SUSPENSION_AWAY && !suspension_needs_driver(s)))
        return;
    out->pause = s->number;
    out->cause = (uint8_t)s->cause;
    out->deep = suspension_needs_driver(s);
    out->wanted = s->away_wanted;
    out->image = worker->pause.image != IMAGE_NONE;
    out->saved = worker->pause.saved;
    out->images = s->bytes;
    for (uint32_t i = 0; i < out->devices_count; i++)
        out->devices[i].needed = s->needed[worker->session.grant.devices[i] - worker->box->devices];
}

static void kept_put_session(const struct worker_process *worker, struct control_kept_session *out)
{
    const struct session_record *session = &worker->session;
    const struct session_grant *grant = &session->grant;

    *out = (struct control_kept_session){.list = CONTROL_SESSION_DIGEST,
                                         .session = session->id,
                                         .client_pid = session->client_pid,
                                         .protection = session->protection,
                                         .since_ms = (uint64_t)session->since_ms,
                                         .waited = session->waited,
                                         .epoch = (uint64_t)grant->epoch,
                                         .owner = (uint64_t)grant->owner,
                                         .mps = worker->mps,
                                         .compute = grant->part.compute,
                                         .memory_limit = grant->part.memory,
                                         .time_share = grant->time_share,
                                         .bandwidth = grant->bandwidth,
                                         .moved = worker->has_moved};
    memcpy(out->client_boot_id, session->client_boot_id, sizeof(out->client_boot_id));
    snprintf(out->obstacle, sizeof(out->obstacle), "%s", obstacle_of(worker));
    snprintf(out->client, sizeof(out->client), "%s", session->client);
    snprintf(out->peer, sizeof(out->peer), "%s", session->peer);
    snprintf(out->lease, sizeof(out->lease), "%s", grant->lease);
    snprintf(out->socket, sizeof(out->socket), "%s", worker->socket);
    snprintf(out->ticket, sizeof(out->ticket), "%s", session->ticket ? session->ticket : "");
    kept_put_devices(grant, out);
    kept_put_calls(worker, out);
    kept_put_suspension(worker, out);
}

void kept_session_store(struct worker_process *worker)
{
    const struct session_record *session = &worker->session;
    int fds[SPAWNER_STORE_MAX];
    size_t count = 0;

    worker->unkept = false;
    if (!spawner_outlives(worker->box))
        return;
    SCOPED_FREE struct control_kept_session *kept = malloc(sizeof(*kept));
    if (!kept)
        return;
    kept_put_session(worker, kept);
    const int *account =
        accounts_descriptors(worker->box, session->grant.lease, session->id, &kept->account_first);
    SCOPED_FD int record = spawner_kept_pack(CONTROL_KEPT_SESSION, kept);
    explicit_bzero(kept, sizeof(*kept));
    if (record < 0) {
        log_error("session=%llu is not stored for the next rgpud error=\"%s\"",
                  (unsigned long long)session->id, strerror(-record));
        return;
    }
    fds[count++] = record;
    for (int i = 0; account && i < LEDGER_FDS; i++)
        fds[count++] = account[i];
    if (refusals_filter(worker->refusals) >= 0)
        fds[count++] = refusals_filter(worker->refusals);
    spawner_store(worker->box, worker->number, fds, count);
}

void kept_session_review(struct box *box)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->unkept && worker->session.id && worker->state == WORKER_SERVING)
            kept_session_store(worker);
}

// ---- loading ----

int kept_session_load(const struct spawner_kept *kept, struct control_kept_session *out,
                      const int **account, int *filter)
{
    size_t used = 1;
    int err = kept->stored_count ? spawner_kept_unpack(kept->stored[0], CONTROL_KEPT_SESSION, out)
                                 : -ENOENT;

    if (err)
        return err;
    *account = NULL;
    if (out->account_first) {
        *account = &kept->stored[used];
        used += LEDGER_FDS;
    }
    if (kept->stored_count < used || kept->stored_count > used + 1)
        return -EBADMSG;
    *filter = kept->stored_count > used ? kept->stored[used] : -1;
    return 0;
}
