// SPDX-License-Identifier: BSD-3-Clause
// The last known point of the broker's history (broker/leases/history.h), on disk. With it the
// broker detects that its database was restored from an older copy, and the box refuses tickets of
// the lost part. See docs/admin/pool.md.
#ifndef RGPU_DAEMON_BROKER_HISTORY_H
#define RGPU_DAEMON_BROKER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct history;

// Reads DIRECTORY/history if it exists. Returns 0, or -errno after logging.
int history_open(const char *directory, struct history **out) __attribute__((warn_unused_result));
void history_close(struct history **history);

// Returns the last point that the broker sent. Returns false if there is none.
bool history_point(const struct history *history, int64_t *epoch, const char **run, int64_t *event);
// Stores a new point of the known epoch; history_print() includes it.
void history_note(struct history *history, const char *run, int64_t event);

// A live lease from an earlier epoch, and the first epoch whose tickets are valid for it. The epoch
// is not on disk: after a restart all are, until the broker has answered.
struct history_lease {
    const char *name;
    int64_t since;
};

// Stores a new epoch, and the live leases of this box from earlier epochs. The caller must write
// the text of history_print() to disk. Returns 0, or -ERANGE if the epoch is older than the known
// one.
int history_adopt(struct history *history, int64_t epoch, const struct history_lease *leases,
                  size_t count) __attribute__((warn_unused_result));
// Adds a lease of an earlier epoch that the broker has adopted. Returns 0, -EINVAL or -ENOMEM.
int history_accept(struct history *history, const char *lease) __attribute__((warn_unused_result));
// Returns the content of the file `history`, which the caller frees. Returns 0, -ENOENT if nothing
// is known, or -ENOMEM.
int history_print(const struct history *history, char **text, size_t *size)
    __attribute__((warn_unused_result));

// Returns true if a ticket of epoch EPOCH may open sessions of the lease.
bool history_accepts(const struct history *history, const char *lease, int64_t epoch);

#endif
