// SPDX-License-Identifier: BSD-3-Clause
// The accounts of leases, which bound all sessions of a lease on this box together: their budget, where they have
// one, and the images that they load. A session without a lease has one for itself.
#ifndef RGPU_DAEMON_ACCOUNTS_H
#define RGPU_DAEMON_ACCOUNTS_H

#include "common/ledger.h"
#include "daemon/box.h"

// Adds a session to its lease's account. *fds: the LEDGER_FDS descriptors for the worker, which stay the
// box's. -ENOENT: there is no room for one and the session has no budget; -ENOSPC: the context of one more process does not fit the
// budget; another -errno: the account cannot be kept. The session must not begin then.
int accounts_join(struct box *box, const struct session_grant *grant, uint64_t session,
                  const int **fds) __attribute__((warn_unused_result));
// Has SESSION, of a lease with an account, pay for BYTES that it holds already.
void accounts_charge(struct box *box, const char *lease, uint64_t session, unsigned device,
                     uint64_t bytes);
// The session's worker has ended: what it held is given back.
void accounts_leave(struct box *box, const char *lease, uint64_t session);
// The session's line of the account for one device, and whether the context of its process is counted in
// it. False: it has no account.
bool accounts_look(const struct box *box, const char *lease, uint64_t session, unsigned device,
                   uint64_t *bytes, bool *with_context);
// What all sessions of a lease hold of a device; false: it has no account.
bool accounts_lease(const struct box *box, const char *lease, unsigned device, uint64_t *bytes);
// Bounds what all sessions of a lease may hold there at the moment, whatever their budget.
void accounts_set_room(const struct box *box, const char *lease, unsigned device, uint64_t bytes);
// Lowers that bound to what they do hold, and returns it.
uint64_t accounts_shrink_room(const struct box *box, const char *lease, unsigned device);
// What all accounts hold of a device.
uint64_t accounts_sum(const struct box *box, unsigned device);

#endif
