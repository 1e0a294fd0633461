// SPDX-License-Identifier: BSD-3-Clause
// What of a window is taken, and by which worker. The account is the box's own: nothing of it stands in the window.
#ifndef RGPU_DAEMON_VM_ROOM_H
#define RGPU_DAEMON_VM_ROOM_H

#include <stdint.h>
#include <sys/types.h>

struct vm_room_part {
    uint64_t place, size;
    pid_t owner;
};

// Parts in the order of their places, with what is free between them.
struct vm_room {
    uint64_t size;
    struct vm_room_part *parts;
    uint32_t count, capacity;
};

// The first place where SIZE bytes are free, or 0 (where the head of the window is): there is none.
uint64_t vm_room_take(struct vm_room *room, uint64_t size, pid_t owner);
// Gives back what OWNER has at PLACE. -ENOENT.
int vm_room_give(struct vm_room *room, uint64_t place, pid_t owner);
void vm_room_give_all(struct vm_room *room, pid_t owner);
uint64_t vm_room_taken(const struct vm_room *room);
void vm_room_free(struct vm_room *room);

#endif
