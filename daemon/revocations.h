// SPDX-License-Identifier: BSD-3-Clause
// Leases that have ended while tickets for them may still be valid. The list outlives the daemon: a
// lease whose end was confirmed to the broker must be refused also after a restart.
#ifndef RGPU_DAEMON_REVOCATIONS_H
#define RGPU_DAEMON_REVOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct revocations;

// Reads DIRECTORY/revoked where it exists, as if no entry were for longer than until LATEST. -errno
// after logging.
int revocations_open(const char *directory, int64_t latest, struct revocations **out)
    __attribute__((warn_unused_result));
void revocations_close(struct revocations **list);

// Refuses LEASE from now on until UNTIL (seconds since 1970), when the last ticket has expired. Not
// on disk before what revocations_print gives is.
int revocations_add(struct revocations *list, const char *lease, int64_t until)
    __attribute__((warn_unused_result));
// The lease is taken again after all.
void revocations_remove(struct revocations *list, const char *lease);
bool revocations_has(const struct revocations *list, const char *lease);

// Whether there is something that has not been printed.
bool revocations_changed(const struct revocations *list);
// The file's text, the caller's to free, without entries until before OLDEST: the expiry of the oldest ticket that
// is still accepted. Only once it is on disk as `revoked` may an end be confirmed. -errno.
int revocations_print(struct revocations *list, int64_t oldest, char **text, size_t *size)
    __attribute__((warn_unused_result));
// What was printed did not get there.
void revocations_not_saved(struct revocations *list);

#endif
