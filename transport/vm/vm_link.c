// SPDX-License-Identifier: BSD-3-Clause
// The vm link: a shm link within a window. The guest wakes the worker through the doorbell of the
// window's device, which costs one exit to QEMU. The worker wakes the guest by a byte on the
// session's connection, because an interrupt of the device would need a driver in the guest. The
// byte names the event; the client's thread that reads it signals that event.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "transport/vm/vm.h"

struct vm_doorbells {
    struct shm_doorbells base;
    const struct vm_window *window; // the client's
    uint32_t slot;
};

static void ring_client(struct shm_doorbells *doorbells, int socket, enum shm_direction direction,
                        enum shm_event event)
{
    uint8_t byte = (uint8_t)event;

    // A full socket needs no further byte: its unread bytes wake the client.
    while (send(socket, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

static void ring_worker(struct shm_doorbells *doorbells, int socket, enum shm_direction direction,
                        enum shm_event event)
{
    const struct vm_doorbells *ours = (const struct vm_doorbells *)doorbells;
    const struct vm_window *window = ours->window;

    if (window->doorbell)
        *window->doorbell = vm_window_peer(ours->slot, event) << 16;
    else
        shm_ring_event(window->events[ours->slot * VM_WINDOW_DOORBELLS + event]);
}

static void hear_nothing(struct shm_doorbells *doorbells, const struct shm_memory *memory,
                         int socket)
{
}

static void hear_worker(struct shm_doorbells *doorbells, const struct shm_memory *memory,
                        int socket)
{
    uint8_t bytes[64];
    ssize_t n;

    do {
        n = recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT);
        for (ssize_t i = 0; i < n; i++)
            shm_ring_event(bytes[i] == SHM_EVENT_SPACE
                               ? memory->events[SHM_TO_WORKER][SHM_EVENT_SPACE]
                               : memory->events[SHM_TO_CLIENT][SHM_EVENT_RECORDS]);
    } while (n == (ssize_t)sizeof(bytes) || (n < 0 && errno == EINTR));
}

// The doorbell is the window's, which stays.
static void close_nothing(struct shm_doorbells *doorbells)
{
}

static void free_doorbells(struct shm_doorbells *doorbells)
{
    free(doorbells);
}

static int open_link(enum shm_side side, const struct vm_doorbells *kind,
                     struct shm_memory **memory, int stream, const struct link_options *options,
                     struct link **out)
{
    struct vm_doorbells *doorbells = malloc(sizeof(*doorbells));
    int socket = descriptor_own(fcntl(stream, F_DUPFD_CLOEXEC, DESCRIPTOR_STANDARD));
    int r = !doorbells ? -ENOMEM : socket < 0 ? -errno : 0;

    if (!r) {
        *doorbells = *kind;
        r = shm_link_new_in_window("vm", side, memory, socket, &doorbells->base, options, out);
    }
    if (r) {
        free(doorbells);
        if (socket >= 0)
            close(socket);
    }
    return r;
}

int vm_link_worker(struct shm_memory **memory, int stream, const struct link_options *options,
                   struct link **out)
{
    const struct vm_doorbells doorbells = {.base = {.ring = ring_client,
                                                    .hear = hear_nothing,
                                                    .close = close_nothing,
                                                    .free = free_doorbells}};

    return open_link(SHM_WORKER, &doorbells, memory, stream, options, out);
}

int vm_link_client(struct shm_memory **memory, const struct vm_window *window,
                   const struct vm_part *part, int stream, const struct link_options *options,
                   struct link **out)
{
    const struct vm_doorbells doorbells = {.base = {.ring = ring_worker,
                                                    .heard = POLLIN,
                                                    .hear = hear_worker,
                                                    .close = close_nothing,
                                                    .free = free_doorbells},
                                           .window = window,
                                           .slot = part->slot};

    return open_link(SHM_CLIENT, &doorbells, memory, stream, options, out);
}
