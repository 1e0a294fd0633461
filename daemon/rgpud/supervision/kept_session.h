// SPDX-License-Identifier: BSD-3-Clause
// What rgpu-spawner keeps of each session for the next rgpud: a record (KEPT_SESSION of
// proto/control.spec) in a sealed file, the account of the lease, and the filter of system calls.
#ifndef RGPU_DAEMON_KEPT_SESSION_H
#define RGPU_DAEMON_KEPT_SESSION_H

#include "common/service/ledger.h"
#include "daemon/rgpud/box/spawner_kept.h"
#include "daemon/rgpud/workers/worker_process.h"

// Stores the session of a worker in place of what was stored before.
void kept_session_store(struct worker_process *worker);
// Stores the sessions that have changed. Called by lifecycle_review().
void kept_session_review(struct box *box);

// Reads what was stored. *ACCOUNT points to the LEDGER_FDS descriptors of the account, NULL: it has
// none; *FILTER is -1 if there is none. All belong to KEPT. Returns 0 or -errno; no value of the
// record has been checked, except that it can be decoded.
int kept_session_load(const struct spawner_kept *kept, struct control_kept_session *out,
                      const int **account, int *filter) __attribute__((warn_unused_result));

#endif
