// SPDX-License-Identifier: BSD-3-Clause
// Windows: memory that virtual machines of this host share with the box (common/net/vm_window.h).
// The administrator creates and removes them; vm_server.c passes them to QEMU; sessions of clients
// in these machines get parts of them.
#ifndef RGPU_DAEMON_VM_WINDOWS_H
#define RGPU_DAEMON_VM_WINDOWS_H

#include <jansson.h>

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/workers/worker_process.h"

// Execute orders of the administrator: ORDER is "NAME SIZE [USER]". Return 0 or -errno;
// vm_windows_attach sets TEXT to the reason.
int vm_windows_attach(struct box *box, const char *order, char *text, size_t room)
    __attribute__((warn_unused_result));
int vm_windows_detach(struct box *box, const char *name) __attribute__((warn_unused_result));
// Returns row INDEX of the list of windows, NULL at the end. NAME not NULL: only that window. The
// caller owns the reference.
json_t *vm_windows_row(struct box *box, unsigned index, const char *name);

// For a new session: if the client's machine has a window, sets the window's members of GRANT and
// appends its descriptors to FDS, which has *COUNT. Ends sessions from before the machine's last
// boot.
void vm_windows_join(struct worker_process *worker, const struct control_hello *hello,
                     struct control_grant *grant, int *fds, size_t *count);
// Frees the part of an ended worker.
void vm_windows_leave(struct worker_process *worker);
// Handle requests of a worker for parts of its window. Return 0, or -errno if it violates the
// protocol.
int vm_windows_take(struct worker_process *worker, const struct control_window_take *take);
int vm_windows_give(struct worker_process *worker, const struct control_window_give *give);

void vm_windows_close_all(struct box *box);

#endif
