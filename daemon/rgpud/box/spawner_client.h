// SPDX-License-Identifier: BSD-3-Clause
// Sends orders to rgpu-spawner, which starts and ends processes for rgpud
// (daemon/rgpud/box/spawner_orders.h). Orders do not wait; their results arrive through the event
// loop.
#ifndef RGPU_DAEMON_SPAWNER_CLIENT_H
#define RGPU_DAEMON_SPAWNER_CLIENT_H

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/box/spawner_orders.h"

// Callbacks of the part that ordered a process. The event loop calls both, and ENDED last. FDS
// belong to the caller, which closes them; the callback may duplicate them.
struct spawner_owner {
    void (*started)(void *argument, pid_t pid, const int *fds, size_t count);
    // ERR is 0, or -errno if the process was never started; STATUS is then undefined.
    void (*ended)(void *argument, int err, int status);
    void *argument;
};

// Connects to the spawner that listens at PATH. If PATH is NULL, starts a spawner as a child of
// this process with the given command line (settings only). Waits for its answer and for the end of
// processes that an earlier rgpud left. Returns 0 or -errno after logging.
int spawner_open(struct box *box, const char *path, int argc, char **argv, const char *config)
    __attribute__((warn_unused_result));
void spawner_close(struct box *box);

// Orders a process. Fills in the version, verb and number of ORDER, and stores the number in
// *NUMBER. The caller keeps the descriptors. On -errno, no process starts and no callback is
// called.
int spawner_start(struct box *box, struct spawner_order *order, const int *fds, size_t count,
                  const struct spawner_owner *owner, uint64_t *number)
    __attribute__((warn_unused_result));
// Names one worker for the next suspender. Returns 0 or -errno.
int spawner_add_member(struct box *box, struct spawner_order *order)
    __attribute__((warn_unused_result));
// Orders the spawner to kill the process. The callback ENDED follows when the process has ended.
void spawner_end(struct box *box, uint64_t number);
// Stops callbacks for the process.
void spawner_forget(struct box *box, uint64_t number);
// Waits until the process has ended and its callback was called. Returns false if the deadline
// passes first. For use when the box ends.
bool spawner_await(struct box *box, uint64_t number, int64_t deadline_ms);

#endif
