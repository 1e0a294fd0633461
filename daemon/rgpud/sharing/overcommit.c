// SPDX-License-Identifier: BSD-3-Clause
// A lease with sessions or with a waiting client is a tenant of its GPUs. The memory of a tenant is
// the account of its lease, which includes all allocations, or the library's figure if that is
// higher.
#include "daemon/rgpud/sharing/overcommit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/gpus/accounts.h"
#include "daemon/rgpud/gpus/figures.h"
#include "daemon/rgpud/sharing/overcommit_factor.h"
#include "daemon/rgpud/sharing/overcommit_turns.h"
#include "daemon/rgpud/suspension/suspension_orders.h"
#include "daemon/rgpud/workers/worker_process.h"

enum {
    TENANT_GRACE_MS = 5000, // time for a client to begin a session once there is memory
    TAKE_MS = 1000,         // time for a worker to use a larger quota
    ASKS_MAX = 1024,        // for one worker, which has no more threads
};

_Static_assert((int)TURN_GPUS_MAX >= (int)BOX_DEVICES_MAX, "a place for each");

struct tenant {
    TAILQ_ENTRY(tenant) link;
    char lease[128];
    bool in;         // its memory is on its GPUs, or may return there
    bool leaving;    // its suspension has begun
    bool client;     // a client waits to begin a session
    int64_t seen_ms; // time of the last client that wanted to begin one
    int64_t here_since_ms, waits_since_ms, fixed_until_ms;
    int64_t given_ms;                 // time of its last larger quota
    uint64_t budget[BOX_DEVICES_MAX]; // 0: not a GPU of the lease, or no budget
    uint64_t quota[BOX_DEVICES_MAX];  // quota that its sessions may use without asking
};

struct quota_request {
    TAILQ_ENTRY(quota_request) link;
    struct worker_process *worker;
    uint32_t request, device; // index of the device
    uint64_t bytes;
    int64_t since_ms;
};

// ---- tenants ----

static bool is_overcommitted(const struct box *box, const struct box_device *device)
{
    return overcommit_percent(&box->settings, device->ordinal) > 100;
}

static bool takes_any_turns(const struct box *box)
{
    for (uint32_t i = 0; i < box->device_count; i++)
        if (is_overcommitted(box, &box->devices[i]))
            return true;
    return false;
}

static struct tenant *find_tenant(const struct box *box, const char *lease)
{
    struct tenant *tenant;

    TAILQ_FOREACH(tenant, &box->tenants, link)
        if (!strcmp(tenant->lease, lease))
            return tenant;
    return NULL;
}

static bool takes_turns(const struct box *box, const struct session_grant *grant)
{
    for (uint32_t i = 0; *grant->lease && i < grant->device_count; i++)
        if (grant->budgets[i] && is_overcommitted(box, grant->devices[i]))
            return true;
    return false;
}

static struct tenant *make_tenant(struct box *box, const struct session_grant *grant)
{
    struct tenant *tenant = find_tenant(box, grant->lease);

    if (!tenant && (tenant = calloc(1, sizeof(*tenant)))) {
        snprintf(tenant->lease, sizeof(tenant->lease), "%s", grant->lease);
        TAILQ_INSERT_TAIL(&box->tenants, tenant, link);
    }
    for (uint32_t i = 0; tenant && i < grant->device_count; i++)
        if (is_overcommitted(box, grant->devices[i]))
            tenant->budget[grant->devices[i] - box->devices] = grant->budgets[i];
    return tenant;
}

static bool overcommit_serves(const struct worker_process *worker, const char *lease)
{
    return worker->session.id && !strcmp(worker->session.grant.lease, lease);
}

static unsigned count_sessions(const struct box *box, const char *lease)
{
    const struct worker_process *worker;
    unsigned count = 0;

    TAILQ_FOREACH(worker, &box->workers, link)
        count += overcommit_serves(worker, lease);
    return count;
}

// ---- memory of a tenant ----

static uint64_t overcommit_used(const struct box *box, const struct tenant *tenant, uint32_t index)
{
    uint64_t bytes = 0;

    return accounts_lease(box, tenant->lease, box->devices[index].ordinal, &bytes) ? bytes : 0;
}

static uint64_t measured(const struct box *box, const struct tenant *tenant, uint32_t index)
{
    const struct worker_process *worker;
    uint64_t bytes = 0;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (overcommit_serves(worker, tenant->lease))
            bytes += figures_taken_by(worker, &box->devices[index]);
    return bytes;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t asked(const struct box *box, const struct tenant *tenant, uint32_t index)
{
    const struct quota_request *ask;
    uint64_t bytes = 0;

    TAILQ_FOREACH(ask, &box->quota_requests, link)
        if (ask->device == index && overcommit_serves(ask->worker, tenant->lease))
            bytes += ask->bytes;
    return bytes;
}

// Returns true if a suspended tenant has a worker with its memory, which is ending.
static bool overcommit_stays(const struct box *box, const struct tenant *tenant)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (overcommit_serves(worker, tenant->lease) && worker->state == WORKER_ENDING &&
            !worker->pause.away)
            return true;
    return false;
}

// Computes the memory that a tenant has and wants. The context of its first process is beside the
// budget, as the broker counts it. Other contexts are within the budget.
static void put_needs(const struct box *box, const struct tenant *tenant, bool begun,
                      struct turn_tenant *out)
{
    const struct suspension *s = suspension_find(box, tenant->lease);
    bool stays = !tenant->in && overcommit_stays(box, tenant);

    for (uint32_t i = 0; i < box->device_count; i++) {
        uint64_t context = box->devices[i].info.context_cost;
        if (!tenant->budget[i])
            continue;
        uint64_t more = asked(box, tenant, i) + (tenant->client && begun ? context : 0);
        uint64_t held = overcommit_used(box, tenant, i) + context;
        if (tenant->in)
            out->has[i] = larger(tenant->quota[i] + context, measured(box, tenant, i));
        else
            out->has[i] = (s ? suspension_rest(s, i) : 0) + (stays ? held : 0);
        held = larger(held, s ? s->needed[i] : 0);
        out->wants[i] = more + (!tenant->in && held > out->has[i] ? held - out->has[i] : 0);
    }
}

// ---- state of a tenant ----

static bool overcommit_asks(const struct box *box, const struct tenant *tenant)
{
    for (uint32_t i = 0; i < box->device_count; i++)
        if (asked(box, tenant, i))
            return true;
    return false;
}

// Returns true if a suspended tenant wants to return. One whose return is already allowed does not
// wait.
static bool wants_back(const struct box *box, const struct tenant *tenant,
                       const struct suspension *s)
{
    if (tenant->in || !s || s->state != SUSPENSION_AWAY)
        return false;
    return !s->away_wanted ||
           (s->cause == SUSPENSION_TURN &&
            (s->called || suspension_is_called(s) || overcommit_asks(box, tenant)));
}

// Updates the tenant from its suspension, which others may have ordered.
static void overcommit_follow(const struct box *box, struct tenant *tenant,
                              const struct suspension *s)
{
    bool runs = !s || s->state == SUSPENSION_NONE;

    if (s && s->state == SUSPENSION_AWAY && s->away_wanted)
        tenant->in = false;
    else if (tenant->leaving && runs)
        tenant->fixed_until_ms = clock_ms() + (int64_t)(box->settings.overcommit_quantum / 1000);
    tenant->leaving = !runs && s->state != SUSPENSION_AWAY && s->state != SUSPENSION_RETURNING;
}

static enum turn_place overcommit_place_of(const struct tenant *tenant, const struct suspension *s)
{
    bool on_the_way = s && (s->state == SUSPENSION_PAUSING || s->state == SUSPENSION_LEAVING ||
                            s->state == SUSPENSION_UNCLEAR);

    return on_the_way ? TURN_LEAVING : tenant->in ? TURN_IN : TURN_OUT;
}

// Returns true if the tenant had no calls for a whole quantum and no kernel runs.
static bool overcommit_is_idle(const struct box *box, const struct tenant *tenant)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (overcommit_serves(worker, tenant->lease) &&
            !figures_session_idle(worker, box->settings.overcommit_quantum))
            return false;
    return !tenant->client;
}

// Returns true if the tenant waits for memory. A tenant that was suspended by another order waits
// only after that order ends.
static bool waits(const struct box *box, const struct tenant *tenant, const struct suspension *s)
{
    if (!tenant->in && count_sessions(box, tenant->lease))
        return wants_back(box, tenant, s);
    return tenant->client || overcommit_asks(box, tenant) || wants_back(box, tenant, s);
}

// Returns true if its suspension can free more memory of the GPU.
static bool may_deepen(const struct suspension *s)
{
    return s->light && !s->cannot_deepen;
}

static void overcommit_describe(const struct box *box, struct tenant *tenant,
                                struct turn_tenant *out)
{
    struct suspension *s = suspension_find(box, tenant->lease);
    bool begun = count_sessions(box, tenant->lease) > 0;

    overcommit_follow(box, tenant, s);
    if (s)
        s->others_turn = !tenant->in;
    bool waiting = waits(box, tenant, s);
    if (!waiting)
        tenant->waits_since_ms = 0;
    else if (!tenant->waits_since_ms)
        tenant->waits_since_ms = clock_ms();
    *out = (struct turn_tenant){.place = overcommit_place_of(tenant, s),
                                .waits = waiting,
                                .waits_since_ms = tenant->waits_since_ms,
                                .idle = overcommit_is_idle(box, tenant),
                                .fixed = clock_ms() < tenant->fixed_until_ms ||
                                         (s && s->state != SUSPENSION_NONE && !may_deepen(s)),
                                .here_since_ms = tenant->here_since_ms};
    put_needs(box, tenant, begun, out);
}

// ---- decisions ----

static void overcommit_answer(struct box *box, struct quota_request *ask, bool given)
{
    const struct control_quota_reply reply = {.request = ask->request, .given = given};
    struct worker_process *worker = ask->worker;

    TAILQ_REMOVE(&box->quota_requests, ask, link);
    free(ask);
    if (control_send_packet(worker->control_fd, CONTROL_QUOTA_REPLY, &reply, -1))
        worker_process_kill(worker, "does not receive its quota");
}

static void overcommit_answer_all(struct box *box, const struct tenant *tenant)
{
    struct quota_request *ask, *next;

    for (ask = TAILQ_FIRST(&box->quota_requests); ask; ask = next) {
        next = TAILQ_NEXT(ask, link);
        if (overcommit_serves(ask->worker, tenant->lease))
            overcommit_answer(box, ask, true);
    }
}

// Lets a tenant in or enlarges its quota. The quota also gets half of SPARE, which is the memory
// that no lease wants now.
static void overcommit_enter(struct box *box, struct tenant *tenant, const uint64_t *spare)
{
    struct suspension *s = suspension_find(box, tenant->lease);
    bool begun = count_sessions(box, tenant->lease) > 0;

    if (!tenant->in)
        tenant->here_since_ms = clock_ms();
    for (uint32_t i = 0; i < box->device_count; i++) {
        const struct box_device *device = &box->devices[i];
        uint64_t context = tenant->client && begun ? device->info.context_cost : 0;
        if (!tenant->budget[i])
            continue;
        uint64_t quota = overcommit_used(box, tenant, i) + asked(box, tenant, i) + context;
        quota = larger(tenant->in ? tenant->quota[i] : 0, quota) + spare[i] / 2;
        tenant->quota[i] = quota < tenant->budget[i] ? quota : tenant->budget[i];
        accounts_set_quota(box, tenant->lease, device->ordinal, tenant->quota[i]);
    }
    tenant->in = true;
    tenant->given_ms = clock_ms();
    tenant->client = false;
    tenant->waits_since_ms = 0;
    overcommit_answer_all(box, tenant);
    if (s && s->state == SUSPENSION_AWAY) {
        s->away_wanted = s->others_turn = false;
        s->retry_ms = 0;
    }
    box_changed(box);
}

static void leave(struct box *box, struct tenant *tenant)
{
    struct suspension *s = suspension_find(box, tenant->lease);
    char text[320] = "";

    if (s && may_deepen(s)) {
        s->must_deepen = true;
        return;
    }
    if (!suspension_begin(box, tenant->lease, SUSPENSION_TURN, text, sizeof(text)))
        return;
    log_info("lease=%s does not give way to others that wait reason=\"%s\"", tenant->lease, text);
    tenant->fixed_until_ms = clock_ms() + (int64_t)(box->settings.overcommit_quantum / 1000);
}

// ---- a review ----

static void drop_those_gone(struct box *box)
{
    struct tenant *tenant, *next;

    for (tenant = TAILQ_FIRST(&box->tenants); tenant; tenant = next) {
        next = TAILQ_NEXT(tenant, link);
        if (tenant->client || count_sessions(box, tenant->lease) ||
            clock_ms() - tenant->seen_ms < TENANT_GRACE_MS)
            continue;
        TAILQ_REMOVE(&box->tenants, tenant, link);
        free(tenant);
    }
}

// Updates the tenants from the current sessions. A lease that moved here from a GPU without
// overcommit is in already.
static void adopt_sessions(struct box *box)
{
    const struct worker_process *worker;
    struct tenant *tenant;

    TAILQ_FOREACH(tenant, &box->tenants, link)
        if (count_sessions(box, tenant->lease))
            memset(tenant->budget, 0, sizeof(tenant->budget)); // it may be on another GPU now
    TAILQ_FOREACH(worker, &box->workers, link) {
        const struct session_grant *grant = &worker->session.grant;
        if (!worker->session.id || !takes_turns(box, grant))
            continue;
        bool known = find_tenant(box, grant->lease);
        tenant = make_tenant(box, grant);
        if (!known && tenant) {
            tenant->in = !worker->pause.away;
            tenant->here_since_ms = clock_ms();
        }
    }
}

// Takes back what quotas allow and sessions do not use.
static void shrink_quotas(struct box *box)
{
    struct tenant *tenant;

    TAILQ_FOREACH(tenant, &box->tenants, link) {
        if (!tenant->in || clock_ms() - tenant->given_ms < TAKE_MS)
            continue;
        for (uint32_t i = 0; i < box->device_count; i++)
            if (tenant->budget[i])
                tenant->quota[i] =
                    accounts_shrink_quota(box, tenant->lease, box->devices[i].ordinal);
    }
}

static bool anybody_waits(const struct turn_tenant *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].waits)
            return true;
    return false;
}

static size_t describe_all(struct box *box, struct turn_tenant *list, size_t most)
{
    struct tenant *tenant;
    size_t count = 0;

    TAILQ_FOREACH(tenant, &box->tenants, link)
        if (count < most)
            overcommit_describe(box, tenant, &list[count++]);
    return count;
}

static struct turn_rules rules_of(const struct box *box)
{
    struct turn_rules rules = {.gpus = box->device_count,
                               .now_ms = clock_ms(),
                               .quantum_ms = (int64_t)(box->settings.overcommit_quantum / 1000)};

    for (uint32_t i = 0; i < box->device_count; i++) {
        const struct box_device *device = &box->devices[i];
        uint64_t kept = overcommit_reserve(box, device) +
                        device->info.context_cost * (uint64_t)box->settings.warm_workers;
        rules.room[i] = device->info.memory > kept ? device->info.memory - kept : 0;
    }
    return rules;
}

// Computes the memory that is left after this review's decisions. It is zero on a GPU for which a
// lease still waits.
static void count_spare(const struct turn_rules *rules, const struct turn_tenant *list,
                        size_t count, uint64_t *spare)
{
    for (size_t gpu = 0; gpu < rules->gpus; gpu++) {
        uint64_t taken = 0;
        bool waited = false;
        for (size_t i = 0; i < count; i++) {
            bool enters = list[i].verdict == TURN_ENTERS;
            taken += list[i].has[gpu];
            taken += enters ? list[i].wants[gpu] : 0;
            waited = waited || (list[i].waits && !enters);
        }
        spare[gpu] = !waited && rules->room[gpu] > taken ? rules->room[gpu] - taken : 0;
    }
}

static void overcommit_apply(struct box *box, const struct turn_rules *rules,
                             const struct turn_tenant *list, size_t count)
{
    struct tenant *tenant = TAILQ_FIRST(&box->tenants);
    uint64_t spare[TURN_GPUS_MAX];

    count_spare(rules, list, count, spare);
    for (size_t i = 0; i < count && tenant; i++, tenant = TAILQ_NEXT(tenant, link)) {
        switch (list[i].verdict) {
        case TURN_STAYS: break;
        case TURN_ENTERS:
            overcommit_enter(box, tenant, spare);
            for (size_t gpu = 0; gpu < rules->gpus; gpu++)
                spare[gpu] /= 2;
            break;
        case TURN_LEAVES: leave(box, tenant); break;
        }
    }
}

// Refuses requests that have waited longer than suspend_wait.
static void overcommit_end_waiting(struct box *box)
{
    int64_t most = (int64_t)(box->settings.suspend_wait / 1000);
    struct quota_request *ask, *next;

    for (ask = TAILQ_FIRST(&box->quota_requests); most && ask; ask = next) {
        next = TAILQ_NEXT(ask, link);
        if (clock_ms() - ask->since_ms < most)
            continue;
        log_warn("session=%llu lease=%s bytes=%llu: out of memory, since others did not give way "
                 "for %lld s (suspend_wait)",
                 (unsigned long long)ask->worker->session.id, ask->worker->session.grant.lease,
                 (unsigned long long)ask->bytes, (long long)most / 1000);
        overcommit_answer(box, ask, false);
    }
}

// Clears the mark of waiting clients. Clients that still wait set it again.
static void forget_clients(struct box *box)
{
    struct tenant *tenant;

    TAILQ_FOREACH(tenant, &box->tenants, link)
        tenant->client = false;
}

void overcommit_review(struct box *box)
{
    size_t count = 0;
    struct tenant *tenant;

    if (!takes_any_turns(box))
        return;
    overcommit_end_waiting(box);
    adopt_sessions(box);
    drop_those_gone(box);
    TAILQ_FOREACH(tenant, &box->tenants, link)
        count++;
    SCOPED_FREE struct turn_tenant *list = count ? calloc(count, sizeof(*list)) : NULL;
    if (!list)
        return;
    count = describe_all(box, list, count);
    if (!anybody_waits(list, count))
        return;
    shrink_quotas(box);
    count = describe_all(box, list, count);
    struct turn_rules rules = rules_of(box);
    turns_decide(&rules, list, count);
    overcommit_apply(box, &rules, list, count);
    forget_clients(box);
}

// ---- clients ----

// Returns true if the lease's quota has space for one more context.
static bool overcommit_has_quota(const struct box *box, const struct tenant *tenant)
{
    for (uint32_t i = 0; i < box->device_count; i++)
        if (tenant->budget[i] &&
            overcommit_used(box, tenant, i) + box->devices[i].info.context_cost > tenant->quota[i])
            return false;
    return true;
}

bool overcommit_delays(struct box *box, const struct session_grant *grant)
{
    struct tenant *tenant = takes_turns(box, grant) ? make_tenant(box, grant) : NULL;

    if (!tenant)
        return false;
    tenant->seen_ms = clock_ms();
    tenant->client = !tenant->in ||
                     (count_sessions(box, tenant->lease) && !overcommit_has_quota(box, tenant));
    if (tenant->client && !tenant->waits_since_ms)
        box_changed(box);
    return tenant->client;
}

void overcommit_join(struct box *box, const struct session_grant *grant)
{
    const struct tenant *tenant = find_tenant(box, grant->lease);

    for (uint32_t i = 0; tenant && i < box->device_count; i++)
        if (tenant->budget[i])
            accounts_set_quota(box, tenant->lease, box->devices[i].ordinal, tenant->quota[i]);
}

// ---- workers ----

static bool overcommit_find_device(const struct session_grant *grant, uint32_t ordinal,
                                   uint32_t *index)
{
    for (uint32_t i = 0; i < grant->device_count; i++)
        if (grant->devices[i]->ordinal == ordinal) {
            *index = (uint32_t)(grant->devices[i] - grant->devices[i]->box->devices);
            return true;
        }
    return false;
}

static unsigned count_asks(const struct worker_process *worker)
{
    const struct quota_request *ask;
    unsigned count = 0;

    TAILQ_FOREACH(ask, &worker->box->quota_requests, link)
        count += ask->worker == worker;
    return count;
}

int overcommit_asked(struct worker_process *worker, const struct control_quota_request *said)
{
    struct box *box = worker->box;
    const struct tenant *tenant = find_tenant(box, worker->session.grant.lease);
    uint32_t index;

    if (!worker->session.id || !tenant || count_asks(worker) >= ASKS_MAX ||
        !overcommit_find_device(&worker->session.grant, said->device, &index) ||
        said->bytes > tenant->budget[index])
        return -EPROTO;
    struct quota_request *ask = calloc(1, sizeof(*ask));
    if (!ask)
        return -ENOMEM;
    *ask = (struct quota_request){.worker = worker,
                                  .request = said->request,
                                  .device = index,
                                  .bytes = said->bytes,
                                  .since_ms = clock_ms()};
    TAILQ_INSERT_TAIL(&box->quota_requests, ask, link);
    box_changed(box);
    return 0;
}

void overcommit_leave(const struct worker_process *worker)
{
    struct quota_request *ask, *next;

    for (ask = TAILQ_FIRST(&worker->box->quota_requests); ask; ask = next) {
        next = TAILQ_NEXT(ask, link);
        if (ask->worker != worker)
            continue;
        TAILQ_REMOVE(&worker->box->quota_requests, ask, link);
        free(ask);
    }
}

// ---- queries ----

bool overcommit_waits(const struct worker_process *worker)
{
    const struct quota_request *ask;

    TAILQ_FOREACH(ask, &worker->box->quota_requests, link)
        if (ask->worker == worker)
            return true;
    return false;
}

unsigned overcommit_waiting(const struct box *box, const struct box_device *device)
{
    const struct tenant *tenant;
    unsigned count = 0;

    TAILQ_FOREACH(tenant, &box->tenants, link)
        count += tenant->waits_since_ms && tenant->budget[device - box->devices];
    return count;
}

uint64_t overcommit_quota(const struct box *box, const struct box_device *device)
{
    const struct tenant *tenant;
    uint64_t sum = 0;

    TAILQ_FOREACH(tenant, &box->tenants, link)
        sum += tenant->in ? tenant->quota[device - box->devices] : 0;
    return sum;
}

void overcommit_close(struct box *box)
{
    struct tenant *tenant;

    while ((tenant = TAILQ_FIRST(&box->tenants))) {
        TAILQ_REMOVE(&box->tenants, tenant, link);
        free(tenant);
    }
}
