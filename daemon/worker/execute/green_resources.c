// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/execute/green_resources.h"

#include <pthread.h>
#include <string.h>

#include "common/base/scope.h"

enum { KEPT = 1024 }; // splits of a GPU into groups of every size are fewer

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUdevResource kept[KEPT]; // under lock
static size_t given;             // under lock: how many ever were

// The lock is held.
static bool green_resources_is_kept(const CUdevResource *resource)
{
    for (size_t i = 0; i < given && i < KEPT; i++)
        if (!memcmp(&kept[i], resource, sizeof(*resource)))
            return true;
    return false;
}

void resources_given(const CUdevResource *resources, size_t count)
{
    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < count; i++)
        if (!green_resources_is_kept(&resources[i]))
            kept[given++ % KEPT] = resources[i];
}

bool resources_are_given(const CUdevResource *resources, size_t count)
{
    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < count; i++)
        if (!green_resources_is_kept(&resources[i]))
            return false;
    return true;
}
