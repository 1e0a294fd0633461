// SPDX-License-Identifier: BSD-3-Clause
// One account (common/service/ledger.h) for each lease with sessions on this box. The account
// limits the device memory and the images of all sessions of the lease together. A session without
// a lease has an account of its own.
#ifndef RGPU_DAEMON_ACCOUNTS_H
#define RGPU_DAEMON_ACCOUNTS_H

#include "common/service/ledger.h"
#include "daemon/rgpud/box/box.h"

// Adds a session to the account of its lease. *fds points to the LEDGER_FDS descriptors for the
// worker, which the account owns. -ENOENT: all lines are in use and the session has no budget, so
// it may begin without an account. -ENOSPC: the budget is too small for another context; the
// session must not begin, as after other errors.
int accounts_join(struct box *box, const struct session_grant *grant, uint64_t session,
                  const int **fds) __attribute__((warn_unused_result));
// Returns the descriptors of a session's account, and sets *FIRST to the session whose context the
// broker has counted. NULL: the session has no account.
const int *accounts_descriptors(const struct box *box, const char *lease, uint64_t session,
                                uint64_t *first);
// Adds a session that an earlier rgpud began, with its account FDS, which the caller keeps. The
// worker needs the new descriptors. Returns 0, or -errno if the account does not have the session.
int accounts_take_over(struct box *box, const struct session_grant *grant, uint64_t session,
                       uint64_t first, const int fds[LEDGER_FDS])
    __attribute__((warn_unused_result));
// Clears the lines of sessions that are gone, after the last call of accounts_take_over().
void accounts_settle(struct box *box);
// Adds BYTES that a session uses already to the account.
void accounts_charge(struct box *box, const char *lease, uint64_t session, unsigned device,
                     uint64_t bytes);
// Removes an ended session and its memory from the account.
void accounts_leave(struct box *box, const char *lease, uint64_t session);
// Sets *BYTES to a session's memory on a device, and *WITH_CONTEXT to true if that includes the
// context. Returns false if the session has no account.
bool accounts_read(const struct box *box, const char *lease, uint64_t session, unsigned device,
                   uint64_t *bytes, bool *with_context);
// Sets *BYTES to the memory of all sessions of a lease on a device. Returns false if the lease has
// no account.
bool accounts_lease(const struct box *box, const char *lease, unsigned device, uint64_t *bytes);
// Sets the quota of a lease on a device: a limit in bytes below its budget.
void accounts_set_quota(const struct box *box, const char *lease, unsigned device, uint64_t bytes);
// Sets the quota to the bytes in use, and returns it.
uint64_t accounts_shrink_quota(const struct box *box, const char *lease, unsigned device);
// Returns the number of leases with sessions.
unsigned accounts_count(const struct box *box);
// Reads what the leases moved over the network in the last ELAPSED_NS, and limits them to fair
// shares of CAPACITY bytes per second. Returns how many moved any lately.
unsigned accounts_share_network(struct box *box, uint64_t capacity, uint64_t elapsed_ns);
// Sets the limits of a lease in bytes per second; 0: none.
void accounts_network_rates(const struct box *box, const char *lease, uint64_t session,
                            uint64_t rates[THROTTLE_DIRECTIONS]);
// Returns the bytes of all accounts on a device.
uint64_t accounts_sum(const struct box *box, unsigned device);

#endif
