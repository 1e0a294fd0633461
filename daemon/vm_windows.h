// SPDX-License-Identifier: BSD-3-Clause
// The windows of memory that virtual machines of this host have into the box (common/vm_window.h): made and ended by the
// administrator, shown to QEMU (vm_server.c), and given out to sessions of clients that are in those machines.
#ifndef RGPU_DAEMON_VM_WINDOWS_H
#define RGPU_DAEMON_VM_WINDOWS_H

#include <jansson.h>

#include "daemon/box.h"
#include "daemon/worker_process.h"

// Orders of the administrator, "NAME" or "NAME SIZE [USER]"; TEXT gets what is wrong. -errno.
int vm_windows_attach(struct box *box, const char *order, char *text, size_t room)
    __attribute__((warn_unused_result));
int vm_windows_detach(struct box *box, const char *name) __attribute__((warn_unused_result));
// One row of the list after another, as JSON; NULL behind the last. NAME: of this window alone.
json_t *vm_windows_row(struct box *box, unsigned index, const char *name);

// Finds the window of the client's machine for a worker that is to serve it, fills in what the grant says of it, and adds
// its descriptors to FDS, of which *count are there. Sessions of an earlier boot of that machine are ended.
void vm_windows_join(struct worker_process *worker, const struct control_hello *hello,
                     struct control_grant *grant, int *fds, size_t *count);
void vm_windows_leave(struct worker_process *worker);
// What a worker asks. -errno: it broke the protocol.
int vm_windows_take(struct worker_process *worker, const struct control_window_take *take);
int vm_windows_give(struct worker_process *worker, const struct control_window_give *give);

void vm_windows_close_all(struct box *box);

#endif
