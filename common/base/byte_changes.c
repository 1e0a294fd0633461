// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/byte_changes.h"

#include <string.h>

enum { WORD = 8 };

struct changed_run {
    uint32_t at, size;
};

// Both sides may use the memory meanwhile, as they may use memory that they share.
#define USED_MEANWHILE __attribute__((no_sanitize("thread")))

// Reads a whole word, since the peer may write it meanwhile.
USED_MEANWHILE static uint64_t word_at(const uint8_t *memory)
{
    return __atomic_load_n((const uint64_t *)(const void *)memory, __ATOMIC_RELAXED);
}

USED_MEANWHILE static size_t skip_equal(const uint8_t *now, const uint8_t *known, size_t at,
                                        size_t size)
{
    while (at < size) {
        if ((uintptr_t)(now + at) % 8 == 0 && size - at >= 8) {
            uint64_t before;
            memcpy(&before, known + at, 8);
            if (word_at(now + at) == before) {
                at += 8;
                continue;
            }
        }
        if (now[at] != known[at])
            break;
        at++;
    }
    return at;
}

USED_MEANWHILE static size_t skip_changed(const uint8_t *now, const uint8_t *known, size_t at,
                                          size_t end)
{
    while (at < end && now[at] != known[at])
        at++;
    return at;
}

// The program may write meanwhile. A half-written value is sent again after the write, because
// KNOWN contains the value that was read.
USED_MEANWHILE static void byte_changes_load(uint8_t *to, const uint8_t *from, size_t size)
{
    while (size) {
        size_t step = (uintptr_t)from % 8 == 0 && size >= 8 ? 8 : 1;
        if (step == 8) {
            uint64_t value =
                __atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_RELAXED);
            memcpy(to, &value, sizeof(value));
        } else {
            *to = __atomic_load_n(from, __ATOMIC_RELAXED);
        }
        to += step;
        from += step;
        size -= step;
    }
}

size_t byte_changes_pack(const uint8_t *now, uint8_t *known, size_t size, size_t *at, void *out,
                         size_t room)
{
    uint8_t *to = out;
    size_t used = 0;
    for (;;) {
        size_t first = skip_equal(now, known, *at, size);
        *at = first;
        if (first == size || room - used <= sizeof(struct changed_run))
            return used;
        size_t most = room - used - sizeof(struct changed_run);
        size_t end = skip_changed(now, known, first, size - first < most ? size : first + most);
        if (end == first) // it has been changed back
            continue;
        struct changed_run run = {(uint32_t)first, (uint32_t)(end - first)};
        memcpy(to + used, &run, sizeof(run));
        used += sizeof(run);
        byte_changes_load(to + used, now + first, run.size);
        memcpy(known + first, to + used, run.size);
        used += run.size;
        *at = end;
    }
}

// Stores whole words where possible, so that a concurrent reader of a number finds the old one or
// the new one.
USED_MEANWHILE static void byte_changes_store(uint8_t *to, const uint8_t *from, size_t size)
{
    while (size) {
        size_t step = (uintptr_t)to % 8 == 0 && size >= 8   ? 8
                      : (uintptr_t)to % 4 == 0 && size >= 4 ? 4
                      : (uintptr_t)to % 2 == 0 && size >= 2 ? 2
                                                            : 1;
        uint64_t value = 0;
        memcpy(&value, from, step);
        switch (step) {
        case 8: __atomic_store_n((uint64_t *)(void *)to, value, __ATOMIC_RELAXED); break;
        case 4: __atomic_store_n((uint32_t *)(void *)to, (uint32_t)value, __ATOMIC_RELAXED); break;
        case 2: __atomic_store_n((uint16_t *)(void *)to, (uint16_t)value, __ATOMIC_RELAXED); break;
        default: __atomic_store_n(to, (uint8_t)value, __ATOMIC_RELAXED); break;
        }
        to += step, from += step, size -= step;
    }
}

static bool fit(const uint8_t *changes, size_t bytes, size_t size)
{
    for (size_t i = 0; i < bytes;) {
        struct changed_run run;
        if (bytes - i < sizeof(run))
            return false;
        memcpy(&run, changes + i, sizeof(run));
        i += sizeof(run);
        if (run.size > bytes - i || run.at > size || run.size > size - run.at)
            return false;
        i += run.size;
    }
    return true;
}

bool byte_changes_any(const uint8_t *now, const uint8_t *known, size_t size)
{
    return skip_equal(now, known, 0, size) < size;
}

void byte_changes_apply_some(const void *changes, size_t bytes, uint8_t *memory, uint8_t *known,
                             bool words)
{
    const uint8_t *from = changes;
    for (size_t i = 0; i < bytes;) {
        struct changed_run run;
        memcpy(&run, from + i, sizeof(run));
        i += sizeof(run);
        if ((run.size <= WORD) == words) {
            byte_changes_store(memory + run.at, from + i, run.size);
            memcpy(known + run.at, from + i, run.size);
        }
        i += run.size;
    }
}

bool byte_changes_apply(const void *changes, size_t bytes, uint8_t *memory, uint8_t *known,
                        size_t size)
{
    if (!fit(changes, bytes, size))
        return false;
    byte_changes_apply_some(changes, bytes, memory, known, false);
    byte_changes_apply_some(changes, bytes, memory, known, true);
    return true;
}

bool byte_changes_gather(const void *changes, size_t bytes, uint8_t *gathered, uint8_t *touched,
                         size_t size)
{
    const uint8_t *from = changes;
    if (!fit(from, bytes, size))
        return false;
    for (size_t i = 0; i < bytes;) {
        struct changed_run run;
        memcpy(&run, from + i, sizeof(run));
        i += sizeof(run);
        memcpy(gathered + run.at, from + i, run.size);
        memset(touched + run.at, 1, run.size);
        i += run.size;
    }
    return true;
}
