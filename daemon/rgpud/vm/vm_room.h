// SPDX-License-Identifier: BSD-3-Clause
// Allocates parts of a window to workers. The account is in rgpud's own memory, not in the window.
#ifndef RGPU_DAEMON_VM_ROOM_H
#define RGPU_DAEMON_VM_ROOM_H

#include <stdint.h>
#include <sys/types.h>

struct vm_room_part {
    uint64_t place, size;
    pid_t owner;
};

// Allocated parts, in order of their offset.
struct vm_room {
    uint64_t size;
    struct vm_room_part *parts;
    uint32_t count, capacity;
};

// Allocates SIZE bytes and returns their offset; 0 if there is no space (the window's head is at
// 0).
uint64_t vm_room_take(struct vm_room *room, uint64_t size, pid_t owner);
// Frees OWNER's part at offset PLACE. Returns 0 or -ENOENT.
int vm_room_give(struct vm_room *room, uint64_t place, pid_t owner);
void vm_room_give_all(struct vm_room *room, pid_t owner);
uint64_t vm_room_taken(const struct vm_room *room);
void vm_room_free(struct vm_room *room);

#endif
