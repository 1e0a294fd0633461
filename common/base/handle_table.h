// SPDX-License-Identifier: BSD-3-Clause
// 64-bit handles that are checked before they are used.
//
//      63     56 55     48 47                    28 27                       0
//     +---------+---------+------------------------+-------------------------+
//     |  type   | domain  |       generation       |          index          |
//     +---------+---------+------------------------+-------------------------+
//
// The client mints handles; the worker binds the same values to its real objects. On both sides a
// lookup compares the whole value with that of the slot. So garbage, handles of other types or
// tables (domains), and released handles all give NULL.
//
// Any thread may call any function at any time, except handle_table_free. A lookup takes no lock.
// The table does not own the objects: the caller that releases a handle ensures that no thread
// still uses the object of an earlier lookup.
#ifndef RGPU_COMMON_HANDLE_TABLE_H
#define RGPU_COMMON_HANDLE_TABLE_H

#include <stdint.h>

struct handle_table;

// TYPE is 1..127 wherever it appears, so that no handle is negative or a small number.
enum { HANDLE_TYPE_MAX = 127, HANDLE_INDEX_LIMIT = 1 << 22 };

// DOMAIN (0..255) marks the handles that this table mints; a table that only binds ignores it.
struct handle_table *handle_table_new(unsigned domain);
void handle_table_free(struct handle_table **table);

// A fresh handle for OBJECT (not NULL); 0 where memory or indexes have run out.
uint64_t handle_mint(struct handle_table *table, unsigned type, void *object)
    __attribute__((warn_unused_result));

// Takes over a handle that the other side minted. -EINVAL: not a well-formed handle, or OBJECT is
// NULL; -EEXIST: its index is in use; -ENOMEM.
int handle_bind(struct handle_table *table, uint64_t handle, void *object)
    __attribute__((warn_unused_result));

// Returns the object of a live handle of that type, else NULL.
void *handle_find(const struct handle_table *table, uint64_t handle, unsigned type);

// Ends the handle and returns its object, NULL if it was not live. If several threads release the
// same handle, only one gets the object.
void *handle_release(struct handle_table *table, uint64_t handle, unsigned type);

// Calls VISIT for every live handle of TYPE (0: of any type). VISIT may release that handle.
void handle_table_each(struct handle_table *table, unsigned type,
                       void (*visit)(void *argument, uint64_t handle, void *object),
                       void *argument);

static inline unsigned handle_type(uint64_t handle)
{
    return (unsigned)(handle >> 56);
}

static inline uint32_t handle_index(uint64_t handle)
{
    return (uint32_t)handle & ((1u << 28) - 1);
}

#endif
