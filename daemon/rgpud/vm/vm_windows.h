// SPDX-License-Identifier: BSD-3-Clause
// Manages the windows of memory that virtual machines of this host share with the box
// (common/net/vm_window.h). The administrator creates and removes them, vm_server.c shows them to
// QEMU, and sessions of clients in those machines get parts of them.
#ifndef RGPU_DAEMON_VM_WINDOWS_H
#define RGPU_DAEMON_VM_WINDOWS_H

#include <jansson.h>

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/workers/worker_process.h"

// Execute orders of the administrator: "NAME SIZE [USER]" attaches, "NAME" detaches. TEXT gets the
// reason of an error. Return 0 or -errno.
int vm_windows_attach(struct box *box, const char *order, char *text, size_t room)
    __attribute__((warn_unused_result));
int vm_windows_detach(struct box *box, const char *name) __attribute__((warn_unused_result));
// Returns the row with this index of the list, as JSON, or NULL after the last. If NAME is not
// NULL, the list has only that window.
json_t *vm_windows_row(struct box *box, unsigned index, const char *name);

// Finds the window of the client's machine for a worker that will serve the client. Fills in the
// window's fields of GRANT and appends its descriptors to FDS, which holds *count. Ends sessions
// from an earlier boot of that machine.
void vm_windows_join(struct worker_process *worker, const struct control_hello *hello,
                     struct control_grant *grant, int *fds, size_t *count);
// Frees an ended worker's part of its window.
void vm_windows_leave(struct worker_process *worker);
// Handle a worker's requests for parts of its window. Return -errno if it breaks the protocol.
int vm_windows_take(struct worker_process *worker, const struct control_window_take *take);
int vm_windows_give(struct worker_process *worker, const struct control_window_give *give);

void vm_windows_close_all(struct box *box);

#endif
