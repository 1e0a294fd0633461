// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_DAEMON_EXCLUSION_H
#define RGPU_DAEMON_EXCLUSION_H

#include "daemon/rgpud/workers/worker_process.h"

// Returns a worker whose session cannot share a GPU with GRANT, or NULL; an ending worker only if
// there is no other. The box checks this itself, in case the broker grants an exclusive GPU twice.
const struct worker_process *exclusion_find(const struct box *box,
                                            const struct session_grant *grant);

#endif
