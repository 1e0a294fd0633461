// SPDX-License-Identifier: BSD-3-Clause
// What rgpu-spawner has kept of an earlier rgpud: its workers, and descriptors that it stored.
#ifndef RGPU_DAEMON_SPAWNER_KEPT_H
#define RGPU_DAEMON_SPAWNER_KEPT_H

#include <stddef.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/net/control.h"
#include "daemon/rgpud/box/spawner_orders.h"

enum { KEPT_CONTROL, KEPT_REFUSALS, KEPT_OUTPUT };
_Static_assert((int)KEPT_OUTPUT + 1 == (int)SPAWNER_KEPT, "one for each end");

// A process, or a number below SPAWNER_PROCESSES.
struct spawner_kept {
    TAILQ_ENTRY(spawner_kept) link;
    uint64_t number;
    uint32_t kind; // enum spawner_kind; 0: no process
    pid_t pid;     // 0: no process
    uid_t user;
    int proc_fd;            // directory /proc/PID of a worker; -1: none
    int ends[SPAWNER_KEPT]; // the earlier rgpud's ends of the worker's sockets and pipe
    int stored[SPAWNER_STORE_MAX];
    size_t stored_count;
};
TAILQ_HEAD(spawner_kept_list, spawner_kept);

// Add what a reply lists. The caller keeps FDS.
void spawner_kept_listed(struct spawner_kept_list *list, const struct spawner_reply *reply,
                         const int *fds, size_t count);
void spawner_kept_stored(struct spawner_kept_list *list, const struct spawner_reply *reply,
                         const int *fds, size_t count);
// Returns the entry of a number, or NULL.
struct spawner_kept *spawner_kept_find(const struct spawner_kept_list *list, uint64_t number);
// Frees an entry that is in no list, and closes its descriptors that are not -1.
void spawner_kept_free(struct spawner_kept **kept);

// Returns a sealed file with a message, or -errno.
int spawner_kept_pack(enum control_message_type type, const void *message)
    __attribute__((warn_unused_result));
// Reads such a file. Returns 0 or -errno; no value has been checked, except that it can be decoded.
int spawner_kept_unpack(int fd, enum control_message_type type, void *out)
    __attribute__((warn_unused_result));

#endif
