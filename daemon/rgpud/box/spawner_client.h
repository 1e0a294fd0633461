// SPDX-License-Identifier: BSD-3-Clause
// Sends orders to rgpu-spawner, which starts and ends processes for rgpud (spawner_orders.h). Calls
// do not wait; results arrive through the event loop.
#ifndef RGPU_DAEMON_SPAWNER_CLIENT_H
#define RGPU_DAEMON_SPAWNER_CLIENT_H

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/box/spawner_kept.h"
#include "daemon/rgpud/box/spawner_orders.h"

// Callbacks for a process. The event loop calls them; ENDED is the last one. FDS are closed after
// the call.
struct spawner_owner {
    void (*started)(void *argument, pid_t pid, const int *fds, size_t count);
    // ERR: 0, or -errno if the process never started; STATUS is undefined then.
    void (*ended)(void *argument, int err, int status);
    void *argument;
};

// Connects to the spawner at socket PATH. If PATH is NULL, starts a spawner as a child, with the
// settings in ARGV and CONFIG. Waits for its answer and until processes of an earlier rgpud have
// ended for which nothing is stored. Returns 0, or -errno after logging.
int spawner_open(struct box *box, const char *path, int argc, char **argv, const char *config)
    __attribute__((warn_unused_result));
void spawner_close(struct box *box);

// Returns true if the spawner outlives rgpud, so that it is worth to store something.
bool spawner_outlives(const struct box *box);
// Stores descriptors with the spawner (SPAWNER_STORE), if it outlives rgpud. The caller keeps them.
// A failure is logged.
void spawner_store(struct box *box, uint64_t number, const int *fds, size_t count);
// Returns what was kept and not taken yet.
const struct spawner_kept_list *spawner_list_kept(const struct box *box);
// Returns what was kept, one after the other; NULL at the end. The caller ends the use with
// spawner_kept_free(), before the next call.
struct spawner_kept *spawner_take_kept(struct box *box);
// Returns the kept descriptors of this number below SPAWNER_PROCESSES, as above, or NULL.
struct spawner_kept *spawner_take_stored(struct box *box, uint64_t number);
// Sets the callbacks for a process of an earlier rgpud, of which only ENDED follows. Returns false
// if the process has ended.
bool spawner_own(struct box *box, uint64_t number, const struct spawner_owner *owner);

// Orders a process. Sets version, verb and number of ORDER, and *NUMBER. The caller keeps FDS. On
// failure no callback is called. Returns 0 or -errno.
int spawner_start(struct box *box, struct spawner_order *order, const int *fds, size_t count,
                  const struct spawner_owner *owner, uint64_t *number)
    __attribute__((warn_unused_result));
// Adds a worker to those that the next suspender handles. Returns 0 or -errno.
int spawner_add_member(struct box *box, struct spawner_order *order)
    __attribute__((warn_unused_result));
// Makes the spawner kill a process. The callback ENDED follows.
void spawner_end(struct box *box, uint64_t number);
// Prevents further callbacks for a process.
void spawner_forget(struct box *box, uint64_t number);
// Waits until a process has ended and its callback was called. Returns false at DEADLINE_MS. For
// the shutdown only.
bool spawner_await(struct box *box, uint64_t number, int64_t deadline_ms);

#endif
