// SPDX-License-Identifier: BSD-3-Clause
// The address book: the program's memory from CUDA, which is device memory and page-locked host
// memory. Any thread may call.
#ifndef RGPU_CLIENT_ADDRESSES_H
#define RGPU_CLIENT_ADDRESSES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"
#include "proto/cuda_abi.h"

struct allocation {
    uint64_t base;
    uint64_t size;
    bool host; // page-locked host memory, else memory of a device
    // a variable of a module, whose address the box could not choose; this process may have its own
    // memory there, and then that is not known by that address
    bool of_module;
    bool of_graph;          // belongs to graphs whenever they run; other memory may replace it here
    bool registered;        // host memory that the program allocated itself
    bool mapped;            // host memory that the GPU has in its address space, or a mirror of it
    bool mirrored;          // the box has a copy, which the GPU has in its address space
    bool reached;           // host memory that the box accesses by RDMA
    bool copied;            // and has been asked to
    bool sync_copies;       // device memory: calls without Async wait for their work there
    uint32_t region;        // number of the link's region, if mapped or reached
    uint32_t region_offset; // offset of the first byte in the region
    uint64_t elsewhere;     // the box's address, if it maps or mirrors the memory elsewhere; else 0
    unsigned int host_flags;
    uint64_t device_address; // of host memory; 0: none
    struct host_slab *slab;  // of host memory: the slab that it is a piece of; NULL: none
    struct box_session *session;
    uint64_t context; // handle
    CUdevice device;
    CUmemoryPool pool; // NULL: not from a pool
    bool imported;     // from another process
    bool managed;      // device memory that the program, too, accesses at this address
    uint64_t whole;  // of managed memory: start of the box's allocation; 0: a piece of a larger one
    uint64_t memory; // handle of the physical memory that is mapped here; 0: no mapping
    uint64_t id;
};

// Enters an allocation. -EEXIST: its addresses are taken by another box or by this process's own
// memory, so it cannot be used. -ENOMEM.
int memory_add(const struct allocation *allocation);
// Forgets the allocation at BASE, and stores what was known of it in *OUT.
bool memory_remove(uint64_t base, struct allocation *out);
// Finds the allocation that holds ADDRESS. False: there is none.
bool memory_find(uint64_t address, struct allocation *out);
// Returns true if there has been page-locked memory that no GPU has in its address space.
bool memory_any_on_host(void);
// Returns true if host memory at ADDRESS is page-locked.
bool memory_is_page_locked(uint64_t address);
// Finds page-locked host memory at ADDRESS. False: there is none, or the box has mapped it.
bool memory_is_on_host(uint64_t address, struct allocation *out);
// Finds the allocation that holds the first of SIZE bytes at ADDRESS. False: not all of them are
// known, in one allocation or in mappings that follow each other.
bool memory_find_span(uint64_t address, uint64_t size, struct allocation *out);
// Places of the address space with host memory that GPUs do not have at the program's address: a
// bit for each place (modulo HOST_PLACES) that has had such memory. Device memory lies elsewhere,
// so one load decides for most words that they are no pointer to host memory.
enum { HOST_PLACE_SHIFT = 26, HOST_PLACES = 4096 };
extern _Atomic uint64_t host_places[HOST_PLACES / 64];
extern atomic_bool host_places_any; // any bit is set
static inline bool memory_may_be_on_host(uint64_t address)
{
    uint64_t place = (address >> HOST_PLACE_SHIFT) % HOST_PLACES;
    return atomic_load_explicit(&host_places[place / 64], memory_order_relaxed) >> place % 64 & 1;
}
// Returns true if any known memory lies in that range.
bool memory_overlaps(uint64_t address, uint64_t size);
// Keeps host memory of this process away from addresses that a box has just reserved for it, and
// forgets the memory of graphs and modules that was there. Returns -errno as memory_add does.
int memory_keep_free(uint64_t address, uint64_t size, struct box_session *session);
// Sets sync_copies of the device allocation that holds ADDRESS. False: there is none.
bool memory_mark_sync_copies(uint64_t address, bool on);
// Returns true if calls without Async must wait for their work at ADDRESS: the allocation has
// sync_copies, or is host memory in the GPU's address space.
bool memory_has_sync_copies(uint64_t address);
// Notes that the box has been asked to access the host memory that holds ADDRESS by RDMA.
void memory_mark_copied(uint64_t address);
// Notes that the box has a mirror of the host memory at BASE, with the addresses that ROW has;
// NULL: no mirror any longer. False: BASE is no allocation.
bool memory_set_mirror(uint64_t base, const struct allocation *row);
// Returns true if copies use ADDRESS as GPU memory: it is device memory, or the box of the current
// context mirrors it. *ADDRESS becomes the GPU's address, *FOUND the allocation.
bool memory_on_gpu(uint64_t *address, struct allocation *found);
// Forgets all device memory of a context that has ended.
void memory_forget_context(uint64_t context);

// Makes the allocation's context current if another box's is; *ENTERED goes to memory_leave.
CUresult memory_enter(const struct allocation *allocation, bool *entered);
void memory_leave(bool entered);

#endif
