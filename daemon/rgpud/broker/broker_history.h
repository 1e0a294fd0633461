// SPDX-License-Identifier: BSD-3-Clause
// Stores the last known point of the broker's history on disk. The box then notices a database that
// was restored from an older copy, and refuses tickets from the lost part. See docs/admin/pool.md.
#ifndef RGPU_DAEMON_BROKER_HISTORY_H
#define RGPU_DAEMON_BROKER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct history;

// Reads DIRECTORY/history if it exists. Returns 0 or -errno after logging.
int history_open(const char *directory, struct history **out) __attribute__((warn_unused_result));
void history_close(struct history **history);

// Returns the last point that the broker named: its epoch, run and event. Returns false if there is
// none yet.
bool history_point(const struct history *history, int64_t *epoch, const char **run, int64_t *event);
// Stores a new point in the known epoch. It is written with the next history_print().
void history_note(struct history *history, const char *run, int64_t event);

// Stores the broker's epoch and the leases that live on this box, from any epoch. They are safe
// only after the text of history_print() is on disk. Returns -ERANGE if the epoch is older than the
// known one.
int history_adopt(struct history *history, int64_t epoch, const char *const *leases, size_t count)
    __attribute__((warn_unused_result));
// Prints the text of the file `history`; the caller frees it. Returns 0, -ENOENT if nothing is
// known yet, or -ENOMEM.
int history_print(const struct history *history, char **text, size_t *size)
    __attribute__((warn_unused_result));

// Returns true if a ticket of this epoch may open sessions of the lease.
bool history_accepts(const struct history *history, const char *lease, int64_t epoch);

#endif
