// SPDX-License-Identifier: BSD-3-Clause
// The server side of QEMU's ivshmem protocol, for one window: whoever connects to the socket gets the memory and the
// bells (QEMU's docs/specs/ivshmem-spec). Nothing is ever read from a peer but its end.
#ifndef RGPU_DAEMON_VM_SERVER_H
#define RGPU_DAEMON_VM_SERVER_H

#include <event2/event.h>
#include <sys/types.h>

struct vm_server;

struct vm_server_window {
    int memory;
    const int *bells; // event files, of peers 1 and on
    unsigned bell_count;
    uid_t user; // who may connect, beside root and ourselves
    void (*machine_left)(
        void *argument); // the last one that had the window has closed its connection
    void *argument;
};

// LISTENER is taken over in every case. -errno.
int vm_server_open(struct event_base *base, int listener, const struct vm_server_window *window,
                   struct vm_server **out) __attribute__((warn_unused_result));
unsigned vm_server_machines(const struct vm_server *server);
void vm_server_close(struct vm_server **server);

#endif
