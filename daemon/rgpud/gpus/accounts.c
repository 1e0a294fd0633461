// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/gpus/accounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/gpus/network_share.h"
#include "daemon/rgpud/workers/worker_process.h"

struct account {
    TAILQ_ENTRY(account) link;
    char lease[128]; // empty: of a session without a lease
    struct ledger *ledger;
    unsigned sessions;
    uint64_t first; // session whose context the broker has counted
    // The most that honest workers can hold of a device: the budget, plus charges beyond it. 0: no
    // budget.
    uint64_t most[LEDGER_DEVICES];
    uint64_t bandwidth; // bytes per second that the ticket allows; 0: any
    struct network_use network[THROTTLE_DIRECTIONS];
};

static struct account *accounts_find(const struct box *box, const char *lease, uint64_t session)
{
    struct account *account;

    TAILQ_FOREACH(account, &box->accounts, link)
        if (!strcmp(account->lease, lease) && (*lease || account->first == session))
            return account;
    return NULL;
}

static void close_account(struct box *box, struct account *account)
{
    TAILQ_REMOVE(&box->accounts, account, link);
    ledger_unmap(&account->ledger);
    free(account);
}

static struct account *open_account(struct box *box, const char *lease)
{
    struct account *account = calloc(1, sizeof(*account));
    int err = account ? ledger_create(&account->ledger) : -ENOMEM;

    if (err) {
        log_error("cannot open the account of lease=%s error=\"%s\"", lease, strerror(-err));
        free(account);
        return NULL;
    }
    ledger_limit_images(account->ledger, box->settings.max_images_per_lease);
    snprintf(account->lease, sizeof(account->lease), "%s", lease);
    TAILQ_INSERT_TAIL(&box->accounts, account, link);
    return account;
}

static bool accounts_has_budget(const struct session_grant *grant)
{
    for (uint32_t i = 0; i < grant->device_count; i++)
        if (grant->budgets[i])
            return true;
    return false;
}

// Charges the contexts of further processes to the budget. The broker reserves memory for one
// context of each share.
static int count_contexts(struct account *account, const struct session_grant *grant,
                          uint64_t session)
{
    for (uint32_t i = 0; account->sessions && i < grant->device_count; i++) {
        const struct box_device *device = grant->devices[i];
        int err = grant->budgets[i]
                      ? ledger_take_first(account->ledger, session, device->ordinal,
                                          device->info.context_cost, grant->budgets[i])
                      : 0;
        if (err) {
            log_warn("lease=%s session refused: the context of one more process does not fit its "
                     "budget gpu=%u used=%llu context=%llu budget=%llu sessions=%u error=\"%s\"",
                     grant->lease, device->ordinal,
                     (unsigned long long)ledger_used(account->ledger, device->ordinal),
                     (unsigned long long)device->info.context_cost,
                     (unsigned long long)grant->budgets[i], account->sessions, strerror(-err));
            return err;
        }
    }
    return 0;
}

// Notes the budget of each device. After a move the lease has its budget on another device.
static void note_budgets(struct account *account, const struct session_grant *grant)
{
    for (uint32_t i = 0; i < grant->device_count; i++)
        if (grant->devices[i]->ordinal < LEDGER_DEVICES &&
            !account->most[grant->devices[i]->ordinal])
            account->most[grant->devices[i]->ordinal] = grant->budgets[i];
}

static uint64_t accounts_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// The limit is the fair share or the ticket's, whichever is lower.
static uint64_t network_rate(const struct account *account, enum throttle_direction direction)
{
    uint64_t share = account->network[direction].rate;

    return share && account->bandwidth ? accounts_least(share, account->bandwidth)
                                       : share + account->bandwidth;
}

static void limit_network(struct account *account)
{
    for (int i = 0; i < THROTTLE_DIRECTIONS; i++)
        ledger_set_rate(account->ledger, i, network_rate(account, i));
}

int accounts_join(struct box *box, const struct session_grant *grant, uint64_t session,
                  const int **fds)
{
    struct account *account;
    int err;

    account = accounts_find(box, grant->lease, session);
    if (!account)
        account = open_account(box, grant->lease);
    if (!account)
        return -ENOMEM;
    err = ledger_open_line(account->ledger, session);
    // A session without a budget can run without an account. Its own limit of images still applies.
    if (err && !accounts_has_budget(grant))
        return -ENOENT;
    if (err) {
        log_warn("lease=%s has too many sessions on this box", grant->lease);
        return err;
    }
    err = count_contexts(account, grant, session);
    if (err) {
        ledger_close_line(account->ledger, session);
        if (!account->sessions)
            close_account(box, account);
        return err;
    }
    if (!account->sessions++)
        account->first = session;
    note_budgets(account, grant);
    account->bandwidth = grant->bandwidth;
    limit_network(account);
    *fds = ledger_descriptors(account->ledger);
    return 0;
}

const int *accounts_descriptors(const struct box *box, const char *lease, uint64_t session,
                                uint64_t *first)
{
    const struct account *account = accounts_find(box, lease, session);

    if (!account || ledger_find_line(account->ledger, session) < 0)
        return NULL;
    *first = account->first;
    return ledger_descriptors(account->ledger);
}

// ---- of an earlier rgpud ----

static struct account *adopt_account(struct box *box, const char *lease, uint64_t first,
                                     const int fds[LEDGER_FDS])
{
    struct account *account = calloc(1, sizeof(*account));
    int err = account ? ledger_take_over(fds, &account->ledger) : -ENOMEM;

    if (err) {
        log_error("cannot take over the account of lease=%s error=\"%s\"", lease, strerror(-err));
        free(account);
        return NULL;
    }
    account->first = first;
    snprintf(account->lease, sizeof(account->lease), "%s", lease);
    TAILQ_INSERT_TAIL(&box->accounts, account, link);
    return account;
}

int accounts_take_over(struct box *box, const struct session_grant *grant, uint64_t session,
                       uint64_t first, const int fds[LEDGER_FDS])
{
    struct account *account = accounts_find(box, grant->lease, session);

    if (!account)
        account = adopt_account(box, grant->lease, first, fds);
    if (!account)
        return -ENOENT;
    if (ledger_find_line(account->ledger, session) < 0) {
        if (!account->sessions)
            close_account(box, account);
        return -ENOENT;
    }
    account->sessions++;
    note_budgets(account, grant);
    account->bandwidth = grant->bandwidth;
    limit_network(account);
    return 0;
}

static bool has_session(const void *argument, uint64_t session)
{
    return worker_process_of_session(argument, session) != NULL;
}

void accounts_settle(struct box *box)
{
    struct account *account;

    TAILQ_FOREACH(account, &box->accounts, link)
        ledger_keep_lines(account->ledger, has_session, box);
}

// ---- changes ----

void accounts_charge(struct box *box, const char *lease, uint64_t session, unsigned device,
                     uint64_t bytes)
{
    struct account *account = accounts_find(box, lease, session);

    if (!account || device >= LEDGER_DEVICES)
        return;
    ledger_charge(account->ledger, session, device, bytes);
    if (account->most[device])
        account->most[device] += bytes;
}

void accounts_leave(struct box *box, const char *lease, uint64_t session)
{
    struct account *account = accounts_find(box, lease, session);

    if (!account || ledger_find_line(account->ledger, session) < 0)
        return;
    ledger_close_line(account->ledger, session);
    if (!--account->sessions)
        close_account(box, account);
}

// Limits a worker's figure to the most that its lease may hold and to the size of the device.
static uint64_t believed(const struct box *box, const struct account *account, unsigned device,
                         uint64_t bytes)
{
    if (account->most[device])
        bytes = accounts_least(bytes, account->most[device]);
    for (uint32_t i = 0; i < box->device_count; i++)
        if (box->devices[i].ordinal == device)
            bytes = accounts_least(bytes, box->devices[i].info.memory);
    return bytes;
}

bool accounts_read(const struct box *box, const char *lease, uint64_t session, unsigned device,
                   uint64_t *bytes, bool *with_context)
{
    const struct account *account = accounts_find(box, lease, session);
    int line = account ? ledger_find_line(account->ledger, session) : -ENOENT;

    if (line < 0 || device >= LEDGER_DEVICES)
        return false;
    *bytes = believed(box, account, device, ledger_line_used(account->ledger, line, device));
    *with_context = account->first != session;
    return true;
}

bool accounts_lease(const struct box *box, const char *lease, unsigned device, uint64_t *bytes)
{
    const struct account *account = *lease ? accounts_find(box, lease, 0) : NULL;

    if (!account || device >= LEDGER_DEVICES)
        return false;
    *bytes = believed(box, account, device, ledger_used(account->ledger, device));
    return true;
}

void accounts_set_quota(const struct box *box, const char *lease, unsigned device, uint64_t bytes)
{
    const struct account *account = accounts_find(box, lease, 0);

    if (account && device < LEDGER_DEVICES)
        ledger_set_quota(account->ledger, device, bytes);
}

uint64_t accounts_shrink_quota(const struct box *box, const char *lease, unsigned device)
{
    const struct account *account = accounts_find(box, lease, 0);

    if (!account || device >= LEDGER_DEVICES)
        return 0;
    return believed(box, account, device, ledger_shrink_quota(account->ledger, device));
}

uint64_t accounts_sum(const struct box *box, unsigned device)
{
    const struct account *account;
    uint64_t sum = 0;

    if (device >= LEDGER_DEVICES)
        return 0;
    TAILQ_FOREACH(account, &box->accounts, link)
        sum += believed(box, account, device, ledger_used(account->ledger, device));
    return sum;
}

// ---- the network ----

unsigned accounts_count(const struct box *box)
{
    const struct account *account;
    unsigned count = 0;

    TAILQ_FOREACH(account, &box->accounts, link)
        count++;
    return count;
}

unsigned accounts_share_network(struct box *box, uint64_t capacity, uint64_t elapsed_ns)
{
    unsigned count = accounts_count(box), moving = 0;
    SCOPED_FREE struct network_use **uses = calloc(count + 1, sizeof(struct network_use *));
    struct account *account;

    for (int i = 0; uses && i < THROTTLE_DIRECTIONS; i++) {
        size_t at = 0;
        TAILQ_FOREACH(account, &box->accounts, link) {
            struct throttle throttle = ledger_throttle(account->ledger);
            network_share_count(&account->network[i], atomic_load(&throttle.counts->bytes[i]),
                                elapsed_ns, capacity);
            uses[at++] = &account->network[i];
        }
        network_share(uses, count, capacity);
    }
    TAILQ_FOREACH(account, &box->accounts, link) {
        limit_network(account);
        moving += account->network[THROTTLE_IN].recent || account->network[THROTTLE_OUT].recent;
    }
    return moving;
}

void accounts_network_rates(const struct box *box, const char *lease, uint64_t session,
                            uint64_t rates[THROTTLE_DIRECTIONS])
{
    const struct account *account = accounts_find(box, lease, session);

    for (int i = 0; i < THROTTLE_DIRECTIONS; i++)
        rates[i] = account ? network_rate(account, i) : 0;
}
