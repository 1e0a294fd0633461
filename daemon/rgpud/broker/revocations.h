// SPDX-License-Identifier: BSD-3-Clause
// Leases that have ended while tickets may still be valid. They are on disk, because the box must
// refuse them after a restart too.
#ifndef RGPU_DAEMON_REVOCATIONS_H
#define RGPU_DAEMON_REVOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct revocations;

// Reads DIRECTORY/revoked if it exists. Reduces all expiries to at most LATEST (seconds since
// 1970). Returns 0, or -errno after logging.
int revocations_open(const char *directory, int64_t latest, struct revocations **out)
    __attribute__((warn_unused_result));
void revocations_close(struct revocations **list);

// Revokes LEASE until UNTIL (seconds since 1970), when its last ticket expires. The caller must
// write the text of revocations_print() to disk. Returns 0 or -errno.
int revocations_add(struct revocations *list, const char *lease, int64_t until)
    __attribute__((warn_unused_result));
// Accepts the lease again.
void revocations_remove(struct revocations *list, const char *lease);
// Returns true if the lease is on the list.
bool revocations_has(const struct revocations *list, const char *lease);

// Returns true if there are changes since the last revocations_print().
bool revocations_changed(const struct revocations *list);
// Returns the content of the file `revoked`, which the caller frees. Removes entries with an expiry
// before OLDEST, when no ticket for them can be valid. Returns 0 or -errno.
int revocations_print(struct revocations *list, int64_t oldest, char **text, size_t *size)
    __attribute__((warn_unused_result));
// Records that the last text could not be written.
void revocations_not_saved(struct revocations *list);

#endif
