// SPDX-License-Identifier: BSD-3-Clause
// Tracks the used parts of a window and the workers that own them. The box keeps this account in
// its own memory, not in the window.
#ifndef RGPU_DAEMON_VM_ROOM_H
#define RGPU_DAEMON_VM_ROOM_H

#include <stdint.h>
#include <sys/types.h>

struct vm_room_part {
    uint64_t place, size;
    pid_t owner;
};

// The used parts, ordered by place. The space between them is free.
struct vm_room {
    uint64_t size;
    struct vm_room_part *parts;
    uint32_t count, capacity;
};

// Allocates SIZE bytes and returns their place, or 0 if there is no space. Place 0 holds the
// window's head.
uint64_t vm_room_take(struct vm_room *room, uint64_t size, pid_t owner);
// Frees the part of OWNER at PLACE. Returns 0 or -ENOENT.
int vm_room_give(struct vm_room *room, uint64_t place, pid_t owner);
void vm_room_give_all(struct vm_room *room, pid_t owner);
uint64_t vm_room_taken(const struct vm_room *room);
void vm_room_free(struct vm_room *room);

#endif
