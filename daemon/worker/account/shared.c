// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/account/shared.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/account/budget.h"
#include "daemon/worker/core/asking.h"

struct shared {
    uint64_t memory;
    uint8_t token[CONTROL_EXPORT_TOKEN_BYTES];
    bool imported;
    bool paid; // of what is imported: by this session
    int device;
    uint64_t charge, size;
    uint8_t handle[CONTROL_EXPORT_HANDLE_BYTES]; // of what is imported: what the driver knows it by
    struct shared *next;
};

static struct shared *list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Under lock, as all that follows.
static struct shared **find(uint64_t memory, bool imported)
{
    struct shared **at = &list;

    while (*at && ((*at)->memory != memory || (*at)->imported != imported))
        at = &(*at)->next;
    return at;
}

static bool shared_insert(const struct shared *row)
{
    struct shared *made = malloc(sizeof(*made));

    if (!made)
        return false;
    *made = *row;
    made->next = list;
    list = made;
    return true;
}

// ---- what is ours ----

bool shared_find(uint64_t memory, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES])
{
    SCOPED_LOCK(&lock);
    const struct shared *found = *find(memory, false);
    if (found)
        memcpy(token, found->token, sizeof(found->token));
    return found;
}

bool shared_add(uint64_t memory, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES])
{
    struct shared row = {.memory = memory};

    SCOPED_LOCK(&lock);
    const struct shared *found = *find(memory, false);
    memcpy(row.token, token, sizeof(row.token));
    if (!found && shared_insert(&row))
        return true;
    ask_no_more(token, true);
    if (found)
        memcpy(token, found->token, sizeof(found->token));
    return found;
}

void shared_forget(uint64_t memory)
{
    SCOPED_LOCK(&lock);
    struct shared **at = find(memory, false), *gone = *at;
    if (!gone)
        return;
    *at = gone->next;
    ask_no_more(gone->token, true);
    free(gone);
}

// ---- what is others' ----

bool import_add(uint64_t memory, const struct control_redeemed *redeemed,
                const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES])
{
    struct shared row = {.memory = memory,
                         .imported = true,
                         .device = (int)redeemed->device,
                         .charge = redeemed->charge,
                         .size = redeemed->size};

    memcpy(row.token, token, sizeof(row.token));
    memcpy(row.handle, redeemed->handle, sizeof(row.handle));
    SCOPED_LOCK(&lock);
    return shared_insert(&row);
}

bool import_find(uint64_t memory, uint64_t *size, uint8_t handle[CONTROL_EXPORT_HANDLE_BYTES])
{
    SCOPED_LOCK(&lock);
    const struct shared *found = *find(memory, true);
    if (!found)
        return false;
    *size = found->size;
    memcpy(handle, found->handle, sizeof(found->handle));
    return true;
}

static struct shared *other_of(const struct shared *gone)
{
    struct shared *at = list;

    while (at && !(at->imported && !at->paid && !memcmp(at->token, gone->token, sizeof(at->token))))
        at = at->next;
    return at;
}

void import_forget(uint64_t memory)
{
    SCOPED_LOCK(&lock);
    struct shared **at = find(memory, true), *gone = *at;
    if (!gone)
        return;
    *at = gone->next;
    // The session goes on paying where it has the same memory once more.
    struct shared *other = gone->paid ? other_of(gone) : NULL;
    if (other)
        other->paid = true;
    else if (gone->paid)
        budget_give(gone->device, gone->charge);
    ask_no_more(gone->token, false);
    free(gone);
}

void import_inherit(const struct control_export_inherited *inherited)
{
    struct shared wanted;

    memcpy(wanted.token, inherited->token, sizeof(wanted.token));
    budget_inherit((int)inherited->device, inherited->charge);
    SCOPED_LOCK(&lock);
    struct shared *found = other_of(&wanted);
    if (found)
        found->paid = true;
    else // it has just been given up
        budget_give((int)inherited->device, inherited->charge);
}
