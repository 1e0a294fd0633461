// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/workers/exclusion.h"

#include <string.h>

// Returns true if two leases may not share an MPS server, because a fault of one would end the
// other.
static bool keep_apart(const struct box *box, const struct session_grant *a,
                       const struct session_grant *b)
{
    switch (box->settings.mps_share) {
    case MPS_SHARE_LEASE: return true;
    case MPS_SHARE_USER: return a->owner != b->owner;
    default: return false;
    }
}

static bool exclude_each_other(const struct box *box, const struct session_grant *a,
                               const struct session_grant *b)
{
    bool apart = keep_apart(box, a, b);

    if (!strcmp(a->lease, b->lease))
        return false;
    for (uint32_t i = 0; i < a->device_count; i++)
        for (uint32_t j = 0; j < b->device_count; j++)
            if (a->devices[i] == b->devices[j] &&
                (a->exclusive[i] || b->exclusive[j] || (apart && a->devices[i]->mps)))
                return true;
    return false;
}

const struct worker_process *exclusion_find(const struct box *box,
                                            const struct session_grant *grant)
{
    const struct worker_process *worker, *ending = NULL;

    TAILQ_FOREACH(worker, &box->workers, link) {
        if (!worker->session.id || worker->pause.away ||
            !exclude_each_other(box, grant, &worker->session.grant))
            continue;
        if (worker->state != WORKER_ENDING)
            return worker;
        ending = worker;
    }
    return ending;
}
