// SPDX-License-Identifier: BSD-3-Clause
// 64-bit handles that are validated at each use.
//
//     63     56 55     48 47                    28 27                       0
//     +---------+---------+------------------------+-------------------------+
//     |  type   | domain  |       generation       |          index          |
//     +---------+---------+------------------------+-------------------------+
//
// The client creates handles; the worker binds the same values to its objects. A lookup compares
// the whole value, so invalid or released handles and those of other types or tables (domains)
// yield NULL.
//
// All functions are thread-safe except handle_table_free. A lookup takes no lock. The table does
// not own the objects: a caller that releases a handle must ensure that no thread still uses the
// object.
#ifndef RGPU_COMMON_HANDLE_TABLE_H
#define RGPU_COMMON_HANDLE_TABLE_H

#include <stdint.h>

struct handle_table;

// TYPE is always 1..127, so that no handle is negative or a small number.
enum { HANDLE_TYPE_MAX = 127, HANDLE_INDEX_LIMIT = 1 << 22 };

// DOMAIN (0..255) is put into the handles that this table creates. Returns NULL if memory is
// exhausted.
struct handle_table *handle_table_new(unsigned domain);
void handle_table_free(struct handle_table **table);

// Creates a handle for OBJECT, which must not be NULL. Returns 0 if memory or indexes are
// exhausted.
uint64_t handle_mint(struct handle_table *table, unsigned type, void *object)
    __attribute__((warn_unused_result));

// Binds a handle of the other side to OBJECT. -EINVAL: the handle is malformed or OBJECT is NULL;
// -EEXIST: its index is in use; -ENOMEM.
int handle_bind(struct handle_table *table, uint64_t handle, void *object)
    __attribute__((warn_unused_result));

// Returns the object of a live handle of this type, else NULL.
void *handle_find(const struct handle_table *table, uint64_t handle, unsigned type);

// Releases a handle and returns its object, or NULL if it was not live. If several threads release
// the same handle, one of them gets the object.
void *handle_release(struct handle_table *table, uint64_t handle, unsigned type);

// Calls VISIT for each live handle of TYPE (0: of all types). VISIT may release that handle.
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
