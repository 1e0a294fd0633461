// SPDX-License-Identifier: BSD-3-Clause
// Which leases may have sessions on one GPU at the same time.
#include "daemon/exclusion.h"

#include <string.h>

static bool exclude_each_other(const struct session_grant *a, const struct session_grant *b)
{
    if (!strcmp(a->lease, b->lease))
        return false;
    for (uint32_t i = 0; i < a->device_count; i++)
        for (uint32_t j = 0; j < b->device_count; j++)
            if (a->devices[i] == b->devices[j] && (a->exclusive[i] || b->exclusive[j]))
                return true;
    return false;
}

const struct worker_process *exclusion_find(const struct box *box,
                                            const struct session_grant *grant)
{
    const struct worker_process *worker, *ending = NULL;

    TAILQ_FOREACH(worker, &box->workers, link) {
        if (!worker->session.id || !exclude_each_other(grant, &worker->session.grant))
            continue;
        if (worker->state != WORKER_ENDING)
            return worker;
        ending = worker;
    }
    return ending;
}
