// SPDX-License-Identifier: BSD-3-Clause
// Server of QEMU's ivshmem protocol for one window (docs/specs/ivshmem-spec of QEMU). A peer that
// connects gets the memory and the doorbells. The server reads nothing from a peer but its end of
// file.
#ifndef RGPU_DAEMON_VM_SERVER_H
#define RGPU_DAEMON_VM_SERVER_H

#include <event2/event.h>
#include <sys/types.h>

struct vm_server;

struct vm_server_window {
    int memory;
    const int *doorbells; // eventfds of peers 1, 2, ...
    unsigned doorbell_count;
    uid_t user; // user that may connect, besides root and the daemon's own
    void (*machine_left)(void *argument); // called when the last connection closes
    void *argument;
};

// Serves a window on the socket LISTENER, which it always takes over. Returns 0 or -errno.
int vm_server_open(struct event_base *base, int listener, const struct vm_server_window *window,
                   struct vm_server **out) __attribute__((warn_unused_result));
// Returns the number of connections to the window.
unsigned vm_server_machines(const struct vm_server *server);
void vm_server_close(struct vm_server **server);

#endif
