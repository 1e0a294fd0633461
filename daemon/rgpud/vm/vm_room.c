// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/vm/vm_room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/vm_window.h"

enum { PARTS_MAX = 1 << 16 };

static int make_space(struct vm_room *room)
{
    uint32_t capacity = room->capacity ? 2 * room->capacity : 64;
    struct vm_room_part *parts;

    if (room->count < room->capacity)
        return 0;
    if (room->count == PARTS_MAX)
        return -E2BIG;
    parts = realloc(room->parts, capacity * sizeof(*parts));
    if (!parts)
        return -ENOMEM;
    room->parts = parts;
    room->capacity = capacity;
    return 0;
}

uint64_t vm_room_take(struct vm_room *room, uint64_t size, pid_t owner)
{
    uint64_t place = VM_WINDOW_HEAD;
    uint32_t i = 0;

    if (!size || size > room->size || make_space(room))
        return 0;
    size = (size + VM_WINDOW_ALIGN - 1) / VM_WINDOW_ALIGN * VM_WINDOW_ALIGN;
    while (i < room->count && room->parts[i].place - place < size) {
        place = room->parts[i].place + room->parts[i].size;
        i++;
    }
    if (place > room->size || size > room->size - place)
        return 0;
    memmove(&room->parts[i + 1], &room->parts[i], (room->count - i) * sizeof(*room->parts));
    room->parts[i] = (struct vm_room_part){.place = place, .size = size, .owner = owner};
    room->count++;
    return place;
}

static void remove_part(struct vm_room *room, uint32_t i)
{
    room->count--;
    memmove(&room->parts[i], &room->parts[i + 1], (room->count - i) * sizeof(*room->parts));
}

int vm_room_give(struct vm_room *room, uint64_t place, pid_t owner)
{
    for (uint32_t i = 0; i < room->count; i++)
        if (room->parts[i].place == place && room->parts[i].owner == owner) {
            remove_part(room, i);
            return 0;
        }
    return -ENOENT;
}

void vm_room_give_all(struct vm_room *room, pid_t owner)
{
    for (uint32_t i = room->count; i-- > 0;)
        if (room->parts[i].owner == owner)
            remove_part(room, i);
}

uint64_t vm_room_taken(const struct vm_room *room)
{
    uint64_t taken = 0;

    for (uint32_t i = 0; i < room->count; i++)
        taken += room->parts[i].size;
    return taken;
}

void vm_room_free(struct vm_room *room)
{
    free(room->parts);
    *room = (struct vm_room){0};
}
