// SPDX-License-Identifier: BSD-3-Clause
// rgpud's side of rgpu-spawner, which starts and ends processes for it (daemon/spawner/spawner_orders.h). Orders are sent and
// forgotten; what becomes of them comes back through the event loop.
#ifndef RGPU_DAEMON_SPAWNER_CLIENT_H
#define RGPU_DAEMON_SPAWNER_CLIENT_H

#include "daemon/box.h"
#include "daemon/spawner/spawner_orders.h"

// Who ordered a process. Both are called from the event loop, ENDED as the last of all. FDS stay the callee's to
// duplicate; the caller closes them.
struct spawner_owner {
    void (*started)(void *argument, pid_t pid, const int *fds, size_t count);
    // ERR: 0, or the process was never started and STATUS means nothing.
    void (*ended)(void *argument, int err, int status);
    void *argument;
};

// Connects to the spawner that listens at PATH, or, if that is NULL, starts one as a child of this process with the given
// command line (settings only). Waits until it has answered and until processes that an earlier rgpud left have ended. -errno after
// logging.
int spawner_open(struct box *box, const char *path, int argc, char **argv, const char *config)
    __attribute__((warn_unused_result));
void spawner_close(struct box *box);

// Orders a process; ORDER gets its version, verb and number, which is stored in *NUMBER, too. The descriptors stay the
// caller's. -errno: there will be no process, and no call of the owner.
int spawner_start(struct box *box, struct spawner_order *order, const int *fds, size_t count,
                  const struct spawner_owner *owner, uint64_t *number)
    __attribute__((warn_unused_result));
// One of the workers that the next suspender acts on. -errno.
int spawner_add_member(struct box *box, struct spawner_order *order)
    __attribute__((warn_unused_result));
// Has the process killed; its owner is called when it has ended.
void spawner_end(struct box *box, uint64_t number);
// The owner is not called any more.
void spawner_forget(struct box *box, uint64_t number);
// Waits until the process has ended and its owner was called. False: not by that time. For the end of the box.
bool spawner_await(struct box *box, uint64_t number, int64_t deadline_ms);

#endif
