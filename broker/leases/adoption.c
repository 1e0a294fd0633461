// SPDX-License-Identifier: BSD-3-Clause
#include "broker/leases/adoption.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/leases/catch_up.h"
#include "broker/leases/history.h"
#include "broker/leases/leases.h"
#include "broker/leases/reclaim.h"
#include "broker/pool/request.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/log_limit.h"
#include "common/base/scope.h"
#include "common/net/json_list.h"

// Further leases of a report wait for the next one, so that other requests are not delayed.
enum { ADOPTIONS_AT_ONCE = 64 };

static struct log_limit refusals = LOG_LIMIT(20, 60);

enum reclaim_verdict { RECLAIM_ADOPTED, RECLAIM_WAITS, RECLAIM_REFUSED };

// ---- terms ----

char *adoption_terms(const struct broker *broker, const struct pool_lease *lease, json_t *contexts)
{
    json_t *terms = json_pack("{s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o}", "run",
                              broker->run, "event", (json_int_t)broker->last_event, "account",
                              lease->account, "key", lease->key ? lease->key : "", "key_owner",
                              (json_int_t)lease->key_owner, "created", (json_int_t)lease->created,
                              "granted", (json_int_t)lease->granted, "lifetime",
                              (json_int_t)lease->lifetime, "request",
                              request_to_json(&lease->request), "contexts", contexts);
    char *text = terms ? json_dumps(terms, JSON_COMPACT) : NULL;

    json_decref(terms);
    return text;
}

static enum reclaim_verdict reclaim_refuse(struct reclaim *reclaim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static enum reclaim_verdict reclaim_refuse(struct reclaim *reclaim, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reclaim->why, sizeof(reclaim->why), format, arguments);
    va_end(arguments);
    return RECLAIM_REFUSED;
}

// ---- contradictions ----

static bool holds_all(const struct reclaim *reclaim)
{
    for (size_t i = 0; i < reclaim->ticket.gpu_count; i++)
        if (!reclaim_has_ordinal(reclaim->lease, reclaim->ticket.gpus[i].ordinal))
            return false;
    return true;
}

static bool adoption_has_place(const struct pool_hold *hold, const struct request *request)
{
    const struct pool_gpu *gpu = hold->gpu;

    if (hold->mode == GPU_EXCLUSIVE)
        return gpu->holders == 0;
    return (gpu->holders == 0 || gpu->mode == GPU_SHARED) && gpu_takes_tenant(gpu, request) &&
           gpu_free_bytes(gpu) >= hold->memory + hold->context;
}

static bool holds_now(const struct pool_lease *lease, const struct pool_gpu *gpu)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        if (lease->holds[i].held && (lease->holds[i].gpu == gpu || lease->holds[i].target == gpu))
            return true;
    return false;
}

// A lease on the GPU that has no sessions on the box and is of an earlier epoch has ended in the
// lost part of the history if a running lease was granted the GPU after it. So it ends for it.
static enum reclaim_verdict settle_gpu(struct reclaim *reclaim, const struct pool_gpu *gpu,
                                       const json_t *running, enum outcome *error)
{
    struct pool_lease *other, *next;
    const char *holder = "none";
    char reason[400];

    for (other = TAILQ_FIRST(&reclaim->broker->pool->leases); other; other = next) {
        next = TAILQ_NEXT(other, all);
        if (!holds_now(other, gpu))
            continue;
        if (other->state == LEASE_ENDING)
            return RECLAIM_WAITS;
        holder = other->id;
        if (!reclaim->runs || json_list_has(running, other->id) ||
            other->epoch >= reclaim->broker->epoch)
            continue;
        snprintf(reason, sizeof(reason),
                 "the database was restored from an older copy, and GPU %s runs lease %s, which "
                 "was granted later",
                 gpu->uuid, reclaim->ticket.lease);
        log_warn("lease=%s ends: %s", other->id, reason);
        *error = broker_end_lease(reclaim->broker, &other, reason, reclaim->actor);
        return RECLAIM_WAITS;
    }
    return reclaim_refuse(reclaim, "GPU %s is held by lease %s", gpu->uuid, holder);
}

static enum reclaim_verdict settle_gpus(struct reclaim *reclaim, const struct request *request,
                                        const json_t *running, enum outcome *error)
{
    for (size_t i = 0; i < reclaim->ticket.gpu_count; i++) {
        struct pool_hold hold = reclaim_hold(reclaim, i, request);
        if (reclaim->lease && reclaim_has_ordinal(reclaim->lease, hold.ordinal))
            continue;
        if (!hold.gpu || hold.gpu->box != reclaim->box || !hold.gpu->present)
            return reclaim_refuse(reclaim, "the box has no GPU %s", reclaim->ticket.gpus[i].uuid);
        if (!reclaim->suspended && !adoption_has_place(&hold, request))
            return settle_gpu(reclaim, hold.gpu, running, error);
    }
    return RECLAIM_ADOPTED;
}

// ---- reclaims ----

static enum reclaim_verdict refuse_ended(struct reclaim *reclaim, const char *reason)
{
    return reason && *reason ? reclaim_refuse(reclaim, "the lease has ended: %.200s", reason)
                             : reclaim_refuse(reclaim, "the lease has ended");
}

static const struct pool_hold *hold_with(const struct pool_lease *lease, uint32_t ordinal)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        if (lease->holds[i].ordinal == ordinal)
            return &lease->holds[i];
    return NULL;
}

// A lease that waits in the restored database may get other GPUs before the box on which it has run
// since reclaims it. Then the ticket is for a GPU that the lease does not hold. Sets *SAME_BOX if
// the other GPU is of this box.
static bool has_other_gpu(const struct reclaim *reclaim, bool *same_box)
{
    for (size_t i = 0; i < reclaim->ticket.gpu_count; i++) {
        struct pool_hold said = reclaim_hold(reclaim, i, &reclaim->lease->request);
        const struct pool_hold *hold = hold_with(reclaim->lease, said.ordinal);
        *same_box = hold && hold->box == reclaim->box;
        if (hold && (!*same_box || (hold->gpu != said.gpu && !hold->moved && !hold->target)))
            return true;
    }
    return false;
}

// If the lease has another GPU of this box, the box cannot keep the two apart: the lease ends.
static enum reclaim_verdict judge_other_gpu(struct reclaim *reclaim, bool same_box,
                                            enum outcome *error)
{
    static const char why[] = "the database was restored from an older copy, and the lease was "
                              "granted other GPUs since";

    if (!same_box)
        return reclaim_refuse(reclaim, "%s", why);
    *error = broker_end_lease(reclaim->broker, &reclaim->lease, why, reclaim->actor);
    return RECLAIM_WAITS;
}

static enum reclaim_verdict judge_known(struct reclaim *reclaim)
{
    const struct pool_lease *lease = reclaim->lease;

    if (lease->state == LEASE_ENDING)
        return refuse_ended(reclaim, lease->reason);
    return lease->state != LEASE_QUEUED && holds_all(reclaim) ? RECLAIM_ADOPTED : RECLAIM_WAITS;
}

// Judges a lease that the database does not know.
static enum reclaim_verdict judge_unknown(struct reclaim *reclaim)
{
    struct broker *broker = reclaim->broker;
    json_t *ended = store_ended_lease(broker->store, reclaim->ticket.lease);
    const char *key = reclaim_text(reclaim, "key");
    enum reclaim_verdict verdict = RECLAIM_WAITS;
    const struct pool_lease *other =
        *key ? pool_find_key(broker->pool, reclaim_number(reclaim, "key_owner"), key) : NULL;

    if (ended)
        verdict = refuse_ended(reclaim, json_string_value(json_object_get(ended, "reason")));
    json_decref(ended);
    if (verdict == RECLAIM_WAITS && other)
        verdict = reclaim_refuse(reclaim, "lease %s has been taken in its place", other->id);
    ended = !*key || other
                ? NULL
                : store_ended_key(broker->store, reclaim_number(reclaim, "key_owner"), key);
    if (verdict == RECLAIM_WAITS && ended)
        verdict = refuse_ended(reclaim, json_string_value(json_object_get(ended, "reason")));
    json_decref(ended);
    return verdict;
}

// Refuses what the known history or the clock contradicts, and begins a new epoch if the ticket is
// the first sign that a part of the history is lost.
static enum reclaim_verdict judge_time(struct reclaim *reclaim, enum outcome *error)
{
    const struct ticket *ticket = &reclaim->ticket;
    struct broker *broker = reclaim->broker;

    if (history_has(broker, reclaim_text(reclaim, "run"), reclaim_number(reclaim, "event")) &&
        !(reclaim->lease && reclaim->lease->epoch < broker->epoch))
        return refuse_ended(reclaim, NULL);
    if (ticket->epoch > clock_wall_seconds() + HISTORY_AHEAD_MAX)
        return reclaim_refuse(reclaim,
                              "its ticket is of an epoch in the future; compare the clocks");
    if (ticket->expires < clock_wall_seconds() && !reclaim->runs)
        return reclaim_refuse(reclaim, "its ticket has expired, and no session runs");
    if (ticket->epoch < broker->epoch)
        return RECLAIM_ADOPTED;
    *error = history_leave(broker, reclaim->box, ticket->epoch,
                           json_pack("{s:s}", "lease", ticket->lease), reclaim->actor);
    return RECLAIM_WAITS; // until the box has registered in the new epoch
}

static enum reclaim_verdict reclaim_judge(struct reclaim *reclaim, const json_t *running,
                                          enum outcome *error)
{
    struct broker *broker = reclaim->broker;
    struct request request;
    enum reclaim_verdict verdict;
    const char *why;
    bool same_box;

    if (strcmp(reclaim->ticket.box, reclaim->box->name))
        return reclaim_refuse(reclaim, "its ticket is for box %s", reclaim->ticket.box);
    reclaim->lease = pool_find_lease(broker->pool, reclaim->ticket.lease);
    if (reclaim->lease && reclaim->lease->state != LEASE_QUEUED)
        reclaim->suspended &= reclaim->lease->suspension == LEASE_AWAY;
    if (reclaim->lease && reclaim->lease->state != LEASE_ENDING &&
        has_other_gpu(reclaim, &same_box))
        return judge_other_gpu(reclaim, same_box, error);
    verdict = reclaim->lease ? judge_known(reclaim) : judge_unknown(reclaim);
    if (verdict != RECLAIM_WAITS)
        return verdict;
    if (request_from_json(json_object_get(reclaim->terms, "request"), &request, &why))
        return reclaim_refuse(reclaim, "its request cannot be read");
    request_set_tenant(&request, reclaim->ticket.owner);
    verdict = judge_time(reclaim, error);
    if (verdict == RECLAIM_ADOPTED)
        verdict = settle_gpus(reclaim, &request, running, error);
    if (verdict == RECLAIM_ADOPTED && !*error)
        *error = reclaim->lease ? reclaim_adopt_known(reclaim)
                                : reclaim_adopt_new(reclaim, &request);
    return verdict;
}

static void read_suspension(struct reclaim *reclaim, const char *id)
{
    const json_t *said = catch_up_suspension(reclaim->report, id);

    reclaim->suspended = said && !json_is_true(json_object_get(said, "returns"));
    reclaim->idle = json_is_true(json_object_get(said, "idle"));
}

static enum outcome take_reclaim(struct reclaim *reclaim, const json_t *said, const json_t *running,
                                 json_t *verdicts)
{
    const char *id = json_string_value(json_object_get(said, "lease"));
    const char *token = json_string_value(json_object_get(said, "ticket"));
    SCOPED_FREE char *terms = NULL;
    enum outcome error = OUTCOME_DONE;
    enum reclaim_verdict verdict;
    int problem;

    if (!id || json_object_get(verdicts, id))
        return OUTCOME_DONE;
    problem = token ? ticket_unseal(&reclaim->broker->keys, clock_wall_seconds(), token,
                                    &reclaim->ticket, &terms)
                    : -EBADMSG;
    reclaim->runs = json_list_has(running, id);
    read_suspension(reclaim, id);
    reclaim->terms = problem ? NULL : json_loads(terms, 0, NULL);
    if (problem == -EKEYREJECTED || problem == -ENOKEY)
        verdict = reclaim_refuse(reclaim, "its ticket is not sealed by this broker");
    else if (problem || strcmp(reclaim->ticket.lease, id))
        verdict = reclaim_refuse(reclaim, "the box shows no ticket of it");
    else
        verdict = reclaim_judge(reclaim, running, &error);
    json_decref(reclaim->terms);
    if (error)
        return error;
    if (verdict == RECLAIM_REFUSED)
        log_limited(&refusals, LOG_LEVEL_WARN, "box=%s reclaims lease=%s, which is refused: %s",
                    reclaim->box->name, id, reclaim->why);
    json_object_set_new(verdicts, id,
                        verdict == RECLAIM_REFUSED   ? json_string(reclaim->why)
                        : verdict == RECLAIM_ADOPTED ? json_true()
                                                     : json_null());
    return OUTCOME_DONE;
}

enum outcome adoption_hear(struct broker *broker, struct pool_box *box, const json_t *report,
                           const json_t *running, const char *actor, json_t **verdicts)
{
    const json_t *list = json_object_get(report, "reclaim");
    struct reclaim *reclaim = json_array_size(list) ? calloc(1, sizeof(*reclaim)) : NULL;
    enum outcome error = json_array_size(list) && !reclaim ? OUTCOME_NO_MEMORY : OUTCOME_DONE;
    const json_t *said;
    size_t i;

    *verdicts = json_object();
    json_array_foreach(list, i, said) {
        if (error || i >= ADOPTIONS_AT_ONCE)
            break;
        *reclaim = (struct reclaim){.broker = broker, .box = box, .report = report, .actor = actor};
        error = take_reclaim(reclaim, said, running, *verdicts);
    }
    free(reclaim);
    if (!error && box->epoch != broker->epoch)
        error = OUTCOME_UNREGISTERED; // a ticket has shown that a part of the history is lost
    return error;
}
