// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/core/expected.h"

#include <stdatomic.h>

static _Atomic unsigned expected;
static void (*watcher)(void);

void expected_watch(void (*rises)(void))
{
    watcher = rises;
}

void expected_add(void)
{
    atomic_fetch_add(&expected, 1);
    if (watcher)
        watcher();
}

void expected_came(void)
{
    atomic_fetch_sub(&expected, 1);
}

bool expected_any(void)
{
    return atomic_load(&expected);
}
