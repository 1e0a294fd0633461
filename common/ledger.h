// SPDX-License-Identifier: BSD-3-Clause
// The account of a lease on one box: how much device memory, and memory for images, each of its processes' workers
// holds. It
// is shared memory that the supervisor makes, one per lease, so that a worker can spoil nothing but
// the account of its own lease. What a worker held goes with it, however it ends: the supervisor
// clears its line.
#ifndef RGPU_COMMON_LEDGER_H
#define RGPU_COMMON_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

enum { LEDGER_DEVICES = 64, LEDGER_LINES = 256 };

struct ledger;

// A new one as a descriptor that workers may be given. -errno.
int ledger_create(int *fd) __attribute__((warn_unused_result));
// Maps the one behind FD, which stays the caller's. -errno.
int ledger_map(int fd, struct ledger **out) __attribute__((warn_unused_result));
void ledger_unmap(struct ledger **ledger);

// ---- the supervisor's side; never waits for a worker ----

// Opens a line for a session. -EAGAIN: the lease has as many sessions as there are lines.
int ledger_open_line(struct ledger *ledger, uint64_t session) __attribute__((warn_unused_result));
// Counts what the session's process costs before it has taken anything: -ENOSPC where all lines together
// would exceed LIMIT; another -errno where a worker does not let go of the account.
int ledger_take_first(struct ledger *ledger, uint64_t session, unsigned device, uint64_t size,
                      uint64_t limit) __attribute__((warn_unused_result));
// Clears the line of a session whose worker has ended.
void ledger_close_line(struct ledger *ledger, uint64_t session);

// What all lines together may hold of a device, whatever their limit; at first there is no such bound.
void ledger_set_room(struct ledger *ledger, unsigned device, uint64_t room);
// Lowers it to what they hold. -EBUSY where a worker does not let go of the account.
int ledger_shrink_room(struct ledger *ledger, unsigned device, uint64_t *room)
    __attribute__((warn_unused_result));

// What images of all lines together may take. Before a worker has the account.
void ledger_limit_images(struct ledger *ledger, uint64_t limit);
// What a line holds of one device.
uint64_t ledger_line_used(const struct ledger *ledger, int line, unsigned device);

// ---- the worker's side ----

// The line of SESSION, or -ENOENT.
int ledger_find_line(const struct ledger *ledger, uint64_t session)
    __attribute__((warn_unused_result));
// Counts SIZE on the line, unless all lines together would exceed LIMIT; false then.
bool ledger_take(struct ledger *ledger, int line, unsigned device, uint64_t size, uint64_t limit);
// Whether it is the room that SIZE has exceeded, and not the limit.
bool ledger_lacks_room(const struct ledger *ledger, unsigned device, uint64_t size, uint64_t limit);
// Whether there is such a bound.
bool ledger_has_room_set(const struct ledger *ledger, unsigned device);
// Counts SIZE on the line, whatever the limit: it is held already.
void ledger_add(struct ledger *ledger, int line, unsigned device, uint64_t size);
void ledger_give(struct ledger *ledger, int line, unsigned device, uint64_t size);
// The same for images, within the limit of the account.
bool ledger_take_images(struct ledger *ledger, int line, uint64_t size);
void ledger_give_images(struct ledger *ledger, int line, uint64_t size);
// What all lines hold.
uint64_t ledger_used(const struct ledger *ledger, unsigned device);

#endif
