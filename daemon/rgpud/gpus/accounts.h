// SPDX-License-Identifier: BSD-3-Clause
// Keeps an account for each lease that has sessions on this box. An account bounds the memory and
// the loading images of all sessions of its lease together. A session without a lease has an
// account of its own.
#ifndef RGPU_DAEMON_ACCOUNTS_H
#define RGPU_DAEMON_ACCOUNTS_H

#include "common/service/ledger.h"
#include "daemon/rgpud/box/box.h"

// Adds a session to the account of its lease. *fds points to the LEDGER_FDS descriptors for the
// worker; the account keeps ownership of them. Returns -ENOENT if the account has no free line and
// the session has no budget; the session may begin without an account. Returns -ENOSPC if the
// budget has no room for one more context, or another -errno; the session must not begin then.
int accounts_join(struct box *box, const struct session_grant *grant, uint64_t session,
                  const int **fds) __attribute__((warn_unused_result));
// Charges BYTES, which SESSION already holds, to the account of its lease.
void accounts_charge(struct box *box, const char *lease, uint64_t session, unsigned device,
                     uint64_t bytes);
// Removes an ended session from the account and returns the memory that it held.
void accounts_leave(struct box *box, const char *lease, uint64_t session);
// Returns the session's use of one device in *bytes; *with_context says if that includes the
// context of its process. Returns false if the session has no account.
bool accounts_read(const struct box *box, const char *lease, uint64_t session, unsigned device,
                   uint64_t *bytes, bool *with_context);
// Returns the bytes that all sessions of a lease hold on a device. Returns false if the lease has
// no account.
bool accounts_lease(const struct box *box, const char *lease, unsigned device, uint64_t *bytes);
// Limits the bytes that all sessions of a lease may hold on a device for now, within their budget.
void accounts_set_quota(const struct box *box, const char *lease, unsigned device, uint64_t bytes);
// Lowers that limit to the bytes that the sessions hold and returns it.
uint64_t accounts_shrink_quota(const struct box *box, const char *lease, unsigned device);
// Returns the bytes that all accounts hold on a device.
uint64_t accounts_sum(const struct box *box, unsigned device);

#endif
