// SPDX-License-Identifier: BSD-3-Clause
// The address book: the memory that the program has from CUDA, allocations on devices and host memory that
// is page-locked. Any thread may call.
#ifndef RGPU_CLIENT_ADDRESSES_H
#define RGPU_CLIENT_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/session/box_session.h"
#include "proto/cuda_abi.h"

struct allocation {
    uint64_t base;
    uint64_t size;
    bool host; // page-locked host memory, else memory of a device
    bool
        of_module; // a variable of a module, whose address the box could not choose: this process may have
                   // memory of its own there, which then is not known by that address
    bool of_graph; // graphs have it here whenever they run; it gives way to what comes in its place
    bool registered;        // host memory that the program allocated itself
    bool mapped;            // host memory that the GPU has in its address space, or a mirror of it
    bool mirrored;          // of which the box has a copy, that the GPU has in its address space
    bool reached;           // host memory that the box reads and writes one-sidedly
    bool sync_copies;       // of a device: calls without Async wait for what they do there
    uint32_t region;        // of the link, where mapped or reached
    uint32_t region_offset; // of its first byte in the region
    uint64_t elsewhere;     // where the box has mapped or mirrored it, if not here; 0
    unsigned int host_flags;
    uint64_t device_address; // of host memory; 0: none
    struct host_slab *slab;  // of host memory: what it is a piece of; NULL: nothing else
    struct box_session *session;
    uint64_t context; // handle
    CUdevice device;
    CUmemoryPool pool; // NULL: not from a pool
    bool imported;     // from another process
    bool managed;      // of a device, and the program reads and writes it where the GPU does
    uint64_t
        whole; // of managed memory: where the box allocated it; 0: together with more than this
    uint64_t memory; // handle of the physical memory that is mapped here; 0: it is no mapping
    uint64_t id;
};

// Enters an allocation. -EEXIST: its addresses are taken by another box or by this process's own
// memory, so it cannot be used. -ENOMEM.
int memory_add(const struct allocation *allocation);
// Forgets the allocation at BASE and gives what was known of it.
bool memory_remove(uint64_t base, struct allocation *out);
// What holds ADDRESS.
bool memory_find(uint64_t address, struct allocation *out);
// Whether there has been page-locked memory that no GPU has in its address space.
bool memory_any_on_host(void);
// Whether host memory at ADDRESS is page-locked.
bool memory_is_page_locked(uint64_t address);
// Whether host memory at ADDRESS is page-locked and not mapped by the box: what holds it.
bool memory_is_on_host(uint64_t address, struct allocation *out);
// What holds the first of SIZE bytes at ADDRESS, where all of them are known: in one allocation, or in mappings
// that follow each other.
bool memory_find_span(uint64_t address, uint64_t size, struct allocation *out);
// Whether anything that is known lies there.
bool memory_overlaps(uint64_t address, uint64_t size);
// Keeps host memory of this process away from addresses that a box has reserved for it. -errno as above.
int memory_keep_free(uint64_t address, uint64_t size, struct box_session *session);
// Marks the allocation that holds ADDRESS, of a device. True: there was one.
bool memory_mark_sync_copies(uint64_t address, bool on);
// Whether the allocation that holds ADDRESS is marked so, or is host memory that the GPU has: what is done there by
// calls without Async is over when they return.
bool memory_has_sync_copies(uint64_t address);
// The box has a mirror of the allocation at BASE now, host memory, with what ROW says of it. False: it is not there.
bool memory_set_mirror(uint64_t base, const struct allocation *row);
// Whether copies find ADDRESS on the GPU's side: memory of a device, or what the box of the current context has a
// mirror of; then *ADDRESS becomes the GPU's address of it. *FOUND is what holds it.
bool memory_on_gpu(uint64_t *address, struct allocation *found);
// Forgets all device memory of a context that has gone.
void memory_forget_context(uint64_t context);

// Makes the allocation's context current if another box's is; *ENTERED goes to memory_leave.
CUresult memory_enter(const struct allocation *allocation, bool *entered);
void memory_leave(bool entered);

#endif
