// SPDX-License-Identifier: BSD-3-Clause
// Ensures that a GPU of an exclusive lease has no sessions of other leases. The box checks this
// itself, in case the broker grants a GPU twice.
#ifndef RGPU_DAEMON_EXCLUSION_H
#define RGPU_DAEMON_EXCLUSION_H

#include "daemon/rgpud/workers/worker_process.h"

// Returns the worker of a session that cannot share a GPU with GRANT, or NULL. Returns a worker
// that is ending only if there is no other.
const struct worker_process *exclusion_find(const struct box *box,
                                            const struct session_grant *grant);

#endif
