// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/sharing/overcommit_turns.h"

struct turn_round {
    const struct turn_rules *rules;
    struct turn_tenant *list;
    size_t count;
    uint64_t free[TURN_GPUS_MAX];    // bytes that no lease has
    uint64_t leaving[TURN_GPUS_MAX]; // bytes of leases that are leaving
    bool awaited[TURN_GPUS_MAX];     // a lease that came earlier waits for this GPU
};

// Returns the additional memory for a tenant. A tenant that wants more than exists gets all that
// exists.
static uint64_t overcommit_turns_need(const struct turn_round *round,
                                      const struct turn_tenant *tenant, size_t gpu)
{
    uint64_t room = round->rules->room[gpu];
    uint64_t most = room > tenant->has[gpu] ? room - tenant->has[gpu] : 0;

    return tenant->wants[gpu] < most ? tenant->wants[gpu] : most;
}

static bool is_short(const struct turn_round *round, const struct turn_tenant *tenant, size_t gpu,
                     const uint64_t *free)
{
    return overcommit_turns_need(round, tenant, gpu) > free[gpu];
}

static bool overcommit_turns_fits(const struct turn_round *round, const struct turn_tenant *tenant,
                                  const uint64_t *free)
{
    for (size_t i = 0; i < round->rules->gpus; i++)
        if (is_short(round, tenant, i, free))
            return false;
    return true;
}

static bool is_barred(const struct turn_round *round, const struct turn_tenant *tenant)
{
    for (size_t i = 0; i < round->rules->gpus; i++)
        if (tenant->wants[i] && round->awaited[i])
            return true;
    return false;
}

// ---- leaving ----

static bool has_its_turn(const struct turn_round *round, const struct turn_tenant *tenant)
{
    return tenant->place == TURN_IN &&
           round->rules->now_ms - tenant->here_since_ms < round->rules->quantum_ms;
}

static bool overcommit_turns_is_before(const struct turn_round *round, const struct turn_tenant *a,
                                       const struct turn_tenant *b)
{
    if (has_its_turn(round, a) != has_its_turn(round, b))
        return has_its_turn(round, a);
    return a->waits_since_ms != b->waits_since_ms ? a->waits_since_ms < b->waits_since_ms : a < b;
}

// Returns the order of leaving: 0 first.
static unsigned rank(const struct turn_tenant *tenant)
{
    return tenant->place == TURN_OUT ? 3 : tenant->waits ? 1 : tenant->idle ? 0 : 2;
}

static bool may_leave(const struct turn_round *round, const struct turn_tenant *tenant,
                      const struct turn_tenant *waiter)
{
    if (tenant == waiter || tenant->place == TURN_LEAVING || tenant->verdict != TURN_STAYS ||
        tenant->fixed)
        return false;
    if (tenant->place == TURN_OUT)
        return true;
    return (tenant->idle && !tenant->waits) ||
           (tenant->waits && overcommit_turns_is_before(round, waiter, tenant)) ||
           !has_its_turn(round, tenant);
}

static bool helps(const struct turn_round *round, const struct turn_tenant *tenant,
                  const struct turn_tenant *waiter, const uint64_t *free)
{
    for (size_t i = 0; i < round->rules->gpus; i++)
        if (tenant->has[i] && is_short(round, waiter, i, free))
            return true;
    return false;
}

static struct turn_tenant *overcommit_turns_find_victim(const struct turn_round *round,
                                                        const struct turn_tenant *waiter,
                                                        const uint64_t *free)
{
    struct turn_tenant *best = NULL;

    for (size_t i = 0; i < round->count; i++) {
        struct turn_tenant *tenant = &round->list[i];
        if (!may_leave(round, tenant, waiter) || !helps(round, tenant, waiter, free))
            continue;
        if (!best || rank(tenant) < rank(best) ||
            (rank(tenant) == rank(best) && tenant->here_since_ms < best->here_since_ms))
            best = tenant;
    }
    return best;
}

// Selects enough tenants to leave so that the waiter fits, or none.
static void overcommit_turns_make_room(const struct turn_round *round,
                                       const struct turn_tenant *waiter)
{
    struct turn_tenant *chosen[TURN_GPUS_MAX * 4], *victim;
    uint64_t free[TURN_GPUS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < round->rules->gpus; i++)
        free[i] = round->free[i] + round->leaving[i];
    while (!overcommit_turns_fits(round, waiter, free) &&
           count < sizeof(chosen) / sizeof(chosen[0]) &&
           (victim = overcommit_turns_find_victim(round, waiter, free))) {
        chosen[count++] = victim;
        victim->verdict = TURN_LEAVES;
        for (size_t i = 0; i < round->rules->gpus; i++)
            free[i] += victim->has[i];
    }
    while (!overcommit_turns_fits(round, waiter, free) && count)
        chosen[--count]->verdict = TURN_STAYS;
}

// ---- serving ----

static struct turn_tenant *next_waiter(const struct turn_round *round,
                                       const struct turn_tenant *last)
{
    struct turn_tenant *next = NULL;

    for (size_t i = 0; i < round->count; i++) {
        struct turn_tenant *tenant = &round->list[i];
        if (tenant->waits && (!last || overcommit_turns_is_before(round, last, tenant)) &&
            (!next || overcommit_turns_is_before(round, tenant, next)))
            next = tenant;
    }
    return next;
}

static void overcommit_turns_serve(struct turn_round *round, struct turn_tenant *waiter)
{
    bool barred = is_barred(round, waiter);

    if (waiter->place == TURN_LEAVING || waiter->verdict == TURN_LEAVES)
        return;
    if (!barred && overcommit_turns_fits(round, waiter, round->free)) {
        waiter->verdict = TURN_ENTERS;
        for (size_t i = 0; i < round->rules->gpus; i++)
            round->free[i] -= overcommit_turns_need(round, waiter, i);
        return;
    }
    if (!barred)
        overcommit_turns_make_room(round, waiter);
    for (size_t i = 0; i < round->rules->gpus; i++)
        round->awaited[i] = round->awaited[i] || waiter->wants[i];
}

void turns_decide(const struct turn_rules *rules, struct turn_tenant *list, size_t count)
{
    struct turn_round round = {.rules = rules, .list = list, .count = count};
    struct turn_tenant *waiter = NULL;

    for (size_t gpu = 0; gpu < rules->gpus; gpu++) {
        uint64_t taken = 0;
        for (size_t i = 0; i < count; i++) {
            taken += list[i].has[gpu];
            round.leaving[gpu] += list[i].place == TURN_LEAVING ? list[i].has[gpu] : 0;
        }
        round.free[gpu] = rules->room[gpu] > taken ? rules->room[gpu] - taken : 0;
    }
    for (size_t i = 0; i < count; i++)
        list[i].verdict = TURN_STAYS;
    while ((waiter = next_waiter(&round, waiter)))
        overcommit_turns_serve(&round, waiter);
}
