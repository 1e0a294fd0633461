// SPDX-License-Identifier: BSD-3-Clause
// Keeps the list of leases that have ended while their tickets may still be valid. The list is on
// disk: the box must refuse a lease with a confirmed end also after a restart.
#ifndef RGPU_DAEMON_REVOCATIONS_H
#define RGPU_DAEMON_REVOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct revocations;

// Reads DIRECTORY/revoked if it exists. Shortens every entry to LATEST. Returns 0 or -errno after
// logging.
int revocations_open(const char *directory, int64_t latest, struct revocations **out)
    __attribute__((warn_unused_result));
void revocations_close(struct revocations **list);

// Refuses LEASE until UNTIL (seconds since 1970), when its last ticket has expired. The entry is
// safe only after the text of revocations_print() is on disk. Returns 0 or -errno.
int revocations_add(struct revocations *list, const char *lease, int64_t until)
    __attribute__((warn_unused_result));
// Accepts the lease again.
void revocations_remove(struct revocations *list, const char *lease);
// Returns true if the lease is on the list.
bool revocations_has(const struct revocations *list, const char *lease);

// Returns true if any change has not been printed.
bool revocations_changed(const struct revocations *list);
// Prints the text of the file `revoked`; the caller frees it. Removes entries that end before
// OLDEST, the expiry of the oldest ticket that is still accepted. The caller may confirm the end of
// a lease only after the file is on disk. Returns 0 or -errno.
int revocations_print(struct revocations *list, int64_t oldest, char **text, size_t *size)
    __attribute__((warn_unused_result));
// Marks the list as changed again, since the last printed text could not be written.
void revocations_not_saved(struct revocations *list);

#endif
