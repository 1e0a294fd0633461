// SPDX-License-Identifier: BSD-3-Clause
// Implements the server side of QEMU's ivshmem protocol for one window (QEMU's
// docs/specs/ivshmem-spec). A peer that connects to the socket gets the memory and the doorbells.
// The server reads nothing from a peer except its end of file.
#ifndef RGPU_DAEMON_VM_SERVER_H
#define RGPU_DAEMON_VM_SERVER_H

#include <event2/event.h>
#include <sys/types.h>

struct vm_server;

struct vm_server_window {
    int memory;
    const int *doorbells; // event files of the peers from number 1
    unsigned doorbell_count;
    uid_t user; // may connect, as may root and the daemon's own user
    void (*machine_left)(
        void *argument); // called after the last connection to the window has closed
    void *argument;
};

// Serves the window on LISTENER and takes ownership of LISTENER, also on failure. Returns 0 or
// -errno.
int vm_server_open(struct event_base *base, int listener, const struct vm_server_window *window,
                   struct vm_server **out) __attribute__((warn_unused_result));
// Returns the number of connections to the window.
unsigned vm_server_machines(const struct vm_server *server);
void vm_server_close(struct vm_server **server);

#endif
