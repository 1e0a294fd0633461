// SPDX-License-Identifier: BSD-3-Clause
// The account of a lease on one box: how much device memory, and memory for images, each of its
// processes' workers holds. It lies in two shared memory files, one pair per lease, so that a
// worker spoils nothing but the account of its own lease:
//
//   /memfd:rgpu-lease        the usage of each worker. The lease's workers write it, and the
//                            supervisor clears the line of a worker that has ended. It has plain
//                            words only, and every reader bounds the values that it reads.
//   /memfd:rgpu-lease-rules  sessions, limits, and the usage that the supervisor has counted for a
//                            worker. Only the supervisor can write it: the file is sealed against
//                            writable mappings before a worker gets it.
//
// There is no lock in them. A worker announces the bytes that it wants, adds up the usage and
// announcements of all lines, and takes its bytes if the sum fits. So two workers never take the
// last bytes twice. If its bytes fit only without the announcements of others, the worker of the
// line with the smallest number waits; the others withdraw their announcements and try again.
#ifndef RGPU_COMMON_LEDGER_H
#define RGPU_COMMON_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LEDGER_DEVICES = 64,
    LEDGER_LINES = 256,
    LEDGER_FDS = 2, // of an account, in the order above
};

// No line holds more. A word beyond it is read as this, so that no sum overflows.
#define LEDGER_LINE_MOST (UINT64_C(1) << 48)

struct ledger;

// ---- the supervisor's side; never waits for a worker ----

// Makes an account. -errno.
int ledger_create(struct ledger **out) __attribute__((warn_unused_result));
// Returns the descriptors that a worker gets; they stay the account's.
const int *ledger_descriptors(const struct ledger *ledger);

// Opens a line for a session. -EAGAIN: the lease has as many sessions as there are lines.
int ledger_open_line(struct ledger *ledger, uint64_t session) __attribute__((warn_unused_result));
// Counts the memory that the session's process takes before its first allocation. -ENOSPC: all
// lines together would exceed LIMIT; -EBUSY: it fits only if workers withdraw their announcements.
int ledger_take_first(struct ledger *ledger, uint64_t session, unsigned device, uint64_t size,
                      uint64_t limit) __attribute__((warn_unused_result));
// Counts SIZE for the session without checking the limit, because the session holds it already.
void ledger_charge(struct ledger *ledger, uint64_t session, unsigned device, uint64_t size);
// Clears the line of a session whose worker has ended.
void ledger_close_line(struct ledger *ledger, uint64_t session);

// Limits the memory that all lines together may hold of a device, beside their own limit; initially
// unlimited.
void ledger_set_quota(struct ledger *ledger, unsigned device, uint64_t room);
// Lowers this quota to the sum of the lines' usage and announcements, and returns it.
uint64_t ledger_shrink_quota(struct ledger *ledger, unsigned device);

// Limits the memory for images of all lines together. To be called before a worker has the account.
void ledger_limit_images(struct ledger *ledger, uint64_t limit);

// ---- the worker's side ----

// Maps the account of the descriptors, which stay the caller's. -errno.
int ledger_map(const int fds[LEDGER_FDS], struct ledger **out) __attribute__((warn_unused_result));
// Counts SIZE on the line, unless all lines together would exceed LIMIT; false then.
bool ledger_take(struct ledger *ledger, int line, unsigned device, uint64_t size, uint64_t limit);
// Returns true if SIZE exceeds the room, and not the limit.
bool ledger_lacks_quota(const struct ledger *ledger, unsigned device, uint64_t size,
                        uint64_t limit);
// Returns true if there is such a bound.
bool ledger_has_quota(const struct ledger *ledger, unsigned device);
// Counts SIZE on the line without checking the limit, because the worker holds it already.
void ledger_add(struct ledger *ledger, int line, unsigned device, uint64_t size);
void ledger_give(struct ledger *ledger, int line, unsigned device, uint64_t size);
// The same for images, within the limit of the account.
bool ledger_take_images(struct ledger *ledger, int line, uint64_t size);
void ledger_give_images(struct ledger *ledger, int line, uint64_t size);

// ---- both ----

void ledger_unmap(struct ledger **ledger);
// Returns the line of SESSION, or -ENOENT.
int ledger_find_line(const struct ledger *ledger, uint64_t session)
    __attribute__((warn_unused_result));
// Return the bytes of one device that a line holds, at most LEDGER_LINE_MOST, and that all lines
// hold.
uint64_t ledger_line_used(const struct ledger *ledger, int line, unsigned device);
uint64_t ledger_used(const struct ledger *ledger, unsigned device);

#endif
