// SPDX-License-Identifier: BSD-3-Clause
// What this box remembers of its broker's history, so that a database that was restored from an older
// copy is noticed, and tickets from the part that was lost are refused; docs/pool.md tells the whole.
#ifndef RGPU_DAEMON_BROKER_HISTORY_H
#define RGPU_DAEMON_BROKER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct history;

// Reads DIRECTORY/history where it exists. -errno after logging.
int history_open(const char *directory, struct history **out) __attribute__((warn_unused_result));
void history_close(struct history **history);

// The last point that the broker named: the epoch, the run and the event in it. False: none yet.
bool history_point(const struct history *history, int64_t *epoch, const char **run, int64_t *event);
void history_note(struct history *history, const char *run, int64_t event);

// The broker has named its epoch and the leases that live on this box, of whatever epoch. Not on disk
// before what history_print gives is. -ERANGE: an epoch that is over.
int history_adopt(struct history *history, int64_t epoch, const char *const *leases, size_t count)
    __attribute__((warn_unused_result));
// The text of the file `history`, the caller's to free. -ENOENT: nothing is known yet; -ENOMEM.
int history_print(const struct history *history, char **text, size_t *size)
    __attribute__((warn_unused_result));

// Whether a ticket of this epoch may open sessions of the lease.
bool history_accepts(const struct history *history, const char *lease, int64_t epoch);

#endif
