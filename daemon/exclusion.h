// SPDX-License-Identifier: BSD-3-Clause
// A GPU of an exclusive lease has no session of another lease beside it, whatever tickets there are: the
// box's own check, should the broker ever grant a GPU twice.
#ifndef RGPU_DAEMON_EXCLUSION_H
#define RGPU_DAEMON_EXCLUSION_H

#include "daemon/worker_process.h"

// The worker of a session that cannot be beside one of GRANT, or NULL; one that is ending only where
// there is no other.
const struct worker_process *exclusion_find(const struct box *box,
                                            const struct session_grant *grant);

#endif
