// SPDX-License-Identifier: BSD-3-Clause
// One ledger for each lease that has sessions on this box, and one for each session without a lease.
#include "daemon/accounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ledger.h"
#include "common/log.h"

struct account {
    TAILQ_ENTRY(account) link;
    char lease[128]; // empty: of a session without one
    int fd;
    struct ledger *ledger;
    unsigned sessions;
    uint64_t first; // session whose context the broker has counted
};

static struct account *find(const struct box *box, const char *lease, uint64_t session)
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
    close(account->fd);
    free(account);
}

static struct account *open_account(struct box *box, const char *lease)
{
    struct account *account = calloc(1, sizeof(*account));
    int err = account ? ledger_create(&account->fd) : -ENOMEM;

    if (!err) {
        err = ledger_map(account->fd, &account->ledger);
        if (err)
            close(account->fd);
    }
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

static bool has_budget(const struct session_grant *grant)
{
    for (uint32_t i = 0; i < grant->device_count; i++)
        if (grant->budgets[i])
            return true;
    return false;
}

// The broker reserves room for one context of each share, so the contexts of further processes count against
// its budget.
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

int accounts_join(struct box *box, const struct session_grant *grant, uint64_t session)
{
    struct account *account;
    int err;

    account = find(box, grant->lease, session);
    if (!account)
        account = open_account(box, grant->lease);
    if (!account)
        return -ENOMEM;
    err = ledger_open_line(account->ledger, session);
    // Where no budget depends on it a session goes on without; its own limit of images stands.
    if (err && !has_budget(grant))
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
    return account->fd;
}

void accounts_charge(struct box *box, const char *lease, uint64_t session, unsigned device,
                     uint64_t bytes)
{
    struct account *account = find(box, lease, session);
    int line = account ? ledger_find_line(account->ledger, session) : -ENOENT;

    if (line >= 0)
        ledger_add(account->ledger, line, device, bytes);
}

void accounts_leave(struct box *box, const char *lease, uint64_t session)
{
    struct account *account = find(box, lease, session);

    if (!account || ledger_find_line(account->ledger, session) < 0)
        return;
    ledger_close_line(account->ledger, session);
    if (!--account->sessions)
        close_account(box, account);
}

bool accounts_look(const struct box *box, const char *lease, uint64_t session, unsigned device,
                   uint64_t *bytes, bool *with_context)
{
    const struct account *account = find(box, lease, session);
    int line = account ? ledger_find_line(account->ledger, session) : -ENOENT;

    if (line < 0 || device >= LEDGER_DEVICES)
        return false;
    *bytes = ledger_line_used(account->ledger, line, device);
    *with_context = account->first != session;
    return true;
}

bool accounts_lease(const struct box *box, const char *lease, unsigned device, uint64_t *bytes)
{
    const struct account *account = *lease ? find(box, lease, 0) : NULL;

    if (!account || device >= LEDGER_DEVICES)
        return false;
    *bytes = ledger_used(account->ledger, device);
    return true;
}

void accounts_set_room(const struct box *box, const char *lease, unsigned device, uint64_t bytes)
{
    const struct account *account = find(box, lease, 0);

    if (account && device < LEDGER_DEVICES)
        ledger_set_room(account->ledger, device, bytes);
}

void accounts_shrink_room(const struct box *box, const char *lease, unsigned device,
                          uint64_t *bytes)
{
    const struct account *account = find(box, lease, 0);

    if (!account)
        *bytes = 0;
    else if (device < LEDGER_DEVICES && ledger_shrink_room(account->ledger, device, bytes))
        log_debug("lease=%s does not let go of its account", lease);
}

uint64_t accounts_sum(const struct box *box, unsigned device)
{
    const struct account *account;
    uint64_t sum = 0;

    TAILQ_FOREACH(account, &box->accounts, link)
        sum += ledger_used(account->ledger, device);
    return sum;
}
