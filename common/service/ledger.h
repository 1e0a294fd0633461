// SPDX-License-Identifier: BSD-3-Clause
// Account of a lease on one box: how much device memory, and memory for images, the worker of each
// process uses. It is in two shared memory files for each lease, so that a worker can damage only
// the account of its own lease:
//
//   /memfd:rgpu-lease        the usage of each worker, one line for each, and the bytes of all over
//                            the network. The workers of the lease
//                            write it; the supervisor clears the lines of workers that have ended.
//                            Readers bound every value.
//   /memfd:rgpu-lease-rules  sessions, limits and rates, and the usage that the supervisor counts.
//                            Only the supervisor can write: the file is sealed against writable
//                            mappings before a worker gets it.
//
// There are no locks. A worker announces the bytes that it wants, sums usage and announcements of
// all lines, and takes the bytes if the sum is within the limit. So two workers never take the same
// last bytes. If the bytes would fit without the announcements of others, the worker with the
// lowest line waits; the others withdraw their announcements and try again.
#ifndef RGPU_COMMON_LEDGER_H
#define RGPU_COMMON_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/service/ledger_limits.h"
#include "common/service/throttle.h"

// Maximum of a line; larger values are read as this one, so that sums cannot overflow.
#define LEDGER_LINE_MOST (UINT64_C(1) << 48)

struct ledger;

// ---- supervisor; never waits for a worker ----

// Creates an account. Returns 0 or -errno.
int ledger_create(struct ledger **out) __attribute__((warn_unused_result));
// Takes over the account of an earlier supervisor, which can write it no more. The rules are copied
// to a file of this supervisor's own, which the workers of the lease must take with
// ledger_change_rules(). The caller keeps FDS. Returns 0 or -errno.
int ledger_take_over(const int fds[LEDGER_FDS], struct ledger **out)
    __attribute__((warn_unused_result));
// Clears the lines of sessions that IS_KEPT does not confirm.
void ledger_keep_lines(struct ledger *ledger,
                       bool (*is_kept)(const void *argument, uint64_t session),
                       const void *argument);
// Returns the descriptors for workers; the account owns them.
const int *ledger_descriptors(const struct ledger *ledger);

// Opens a line for a session. Returns 0, or -EAGAIN if all lines are in use.
int ledger_open_line(struct ledger *ledger, uint64_t session) __attribute__((warn_unused_result));
// Adds the memory that the session's process takes before its first allocation. -ENOSPC: the sum
// would exceed LIMIT; -EBUSY: it fits only if workers withdraw their announcements.
int ledger_take_first(struct ledger *ledger, uint64_t session, unsigned device, uint64_t size,
                      uint64_t limit) __attribute__((warn_unused_result));
// Adds SIZE bytes that the session uses already, without checking the limit.
void ledger_charge(struct ledger *ledger, uint64_t session, unsigned device, uint64_t size);
// Clears the line of a session whose worker has ended.
void ledger_close_line(struct ledger *ledger, uint64_t session);

// Sets the quota of a device: a second limit for the sum of all lines. Initially there is none.
void ledger_set_quota(struct ledger *ledger, unsigned device, uint64_t room);
// Sets the quota to the present sum of usage and announcements, and returns it.
uint64_t ledger_shrink_quota(struct ledger *ledger, unsigned device);

// Limits the memory for images of all lines. Must be called before a worker gets the account.
void ledger_limit_images(struct ledger *ledger, uint64_t limit);

// Sets the rate of the lease's bytes over the network: bytes per second, 0 for no limit.
void ledger_set_rate(struct ledger *ledger, enum throttle_direction direction, uint64_t rate);

// ---- worker ----

// Maps an account. The caller keeps the descriptors. Returns 0 or -errno.
int ledger_map(const int fds[LEDGER_FDS], struct ledger **out) __attribute__((warn_unused_result));
// Reads the rules from another file from now on, which must have the lines of the one before. Other
// threads may use the account meanwhile. The caller keeps FD. Returns 0 or -errno.
int ledger_change_rules(struct ledger *ledger, int fd) __attribute__((warn_unused_result));
// Adds SIZE to the line. Returns false if the sum of all lines would exceed LIMIT or the quota.
bool ledger_take(struct ledger *ledger, int line, unsigned device, uint64_t size, uint64_t limit);
// Returns true if SIZE bytes would be within LIMIT. After a failed ledger_take() this means that
// the quota is too small.
bool ledger_lacks_quota(const struct ledger *ledger, unsigned device, uint64_t size,
                        uint64_t limit);
// Returns true if the device has a quota.
bool ledger_has_quota(const struct ledger *ledger, unsigned device);
// Adds SIZE bytes that the worker uses already, without checking the limit.
void ledger_add(struct ledger *ledger, int line, unsigned device, uint64_t size);
void ledger_give(struct ledger *ledger, int line, unsigned device, uint64_t size);
// Take and give back memory for images.
bool ledger_take_images(struct ledger *ledger, int line, uint64_t size);
void ledger_give_images(struct ledger *ledger, int line, uint64_t size);

// ---- both ----

// Returns the lease's throttle, which is valid as long as the account is mapped.
struct throttle ledger_throttle(const struct ledger *ledger);

void ledger_unmap(struct ledger **ledger);
// Returns the line of a session, or -ENOENT.
int ledger_find_line(const struct ledger *ledger, uint64_t session)
    __attribute__((warn_unused_result));
// Return the bytes of a device that one line uses, at most LEDGER_LINE_MOST, and that all lines
// use.
uint64_t ledger_line_used(const struct ledger *ledger, int line, unsigned device);
uint64_t ledger_used(const struct ledger *ledger, unsigned device);

#endif
