// SPDX-License-Identifier: BSD-3-Clause
// See exec_names.h.
#include "client-lib/cuda/objects/exec_names.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/scope.h"

struct exec_name {
    uint64_t handle, name;
    struct exec_name *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct exec_name *names; // under lock
static _Atomic unsigned name_count;

bool exec_name(uint64_t handle, uint64_t name)
{
    struct exec_name *made = malloc(sizeof(*made));
    if (!made)
        return false;
    SCOPED_LOCK(&lock);
    *made = (struct exec_name){handle, name, names};
    names = made;
    atomic_fetch_add(&name_count, 1);
    return true;
}

uint64_t exec_named(uint64_t name)
{
    if (!atomic_load_explicit(&name_count, memory_order_relaxed))
        return 0;
    SCOPED_LOCK(&lock);
    const struct exec_name *at = names;
    while (at && at->name != name)
        at = at->next;
    return at ? at->handle : 0;
}

void exec_unname(uint64_t handle)
{
    if (!atomic_load_explicit(&name_count, memory_order_relaxed))
        return;
    SCOPED_LOCK(&lock);
    struct exec_name **at = &names, *gone;
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    gone = *at;
    if (!gone)
        return;
    *at = gone->next;
    free(gone);
    atomic_fetch_sub(&name_count, 1);
}
