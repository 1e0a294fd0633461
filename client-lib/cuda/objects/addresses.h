// SPDX-License-Identifier: BSD-3-Clause
// The address book: all memory that the program has from CUDA, that is device memory and
// page-locked host memory. Sizes are in bytes. Any thread may call.
#ifndef RGPU_CLIENT_ADDRESSES_H
#define RGPU_CLIENT_ADDRESSES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"
#include "proto/cuda_abi.h"

// An entry of the address book. The functions below copy it.
struct allocation {
    uint64_t base; // address of the first byte, as the program uses it
    uint64_t size;
    bool host; // page-locked host memory, else memory of a device
    // A variable of a module. The box cannot choose its address. If this process has memory of its
    // own there, the entry does not describe that memory.
    bool of_module;
    bool of_graph;          // graphs allocate it in each run; a later entry may replace this one
    bool registered;        // host memory that the program allocated itself
    bool mapped;            // host memory that the GPU has in its address space, or a mirror of it
    bool mirrored;          // the box has a copy, which the GPU has in its address space
    bool reached;           // host memory that the box accesses by RDMA
    bool copied;            // the box has already been asked to access it so
    bool sync_copies;       // device memory: calls without Async wait for their work on it
    uint32_t region;        // number of the link's region, if mapped or reached
    uint32_t region_offset; // offset of the first byte in the region
    uint64_t elsewhere;     // the box's address, if it maps or mirrors the memory elsewhere; else 0
    unsigned int host_flags; // of host memory: flags of cuMemHostAlloc or cuMemHostRegister
    uint64_t device_address; // of host memory: its device pointer; 0: none
    struct host_slab *slab;  // of host memory: the slab that it is a piece of; NULL: none
    struct box_session *session;
    uint64_t context;  // handle of the context that owns the memory
    CUdevice device;   // the program's number
    bool ordered;      // allocated in the order of a stream
    CUmemoryPool pool; // the pool that the program named; NULL: none
    bool imported;     // another process owns the memory
    bool exported;     // device memory that other processes may open
    bool managed;      // device memory that the program, too, accesses at this address
    uint64_t whole;    // of managed memory: start of the box's allocation; 0: a piece of a slab
    uint64_t memory;   // handle of the physical memory that is mapped here; 0: no mapping
    uint64_t id;       // number that no other allocation of this process has
};

// Returns the start of the box's allocation.
static inline uint64_t memory_whole(const struct allocation *memory)
{
    return memory->managed ? memory->whole : memory->base;
}

// Enters an allocation. -EEXIST: its addresses are taken by another box or by this process's own
// memory, so it cannot be used. -ENOMEM.
int memory_add(const struct allocation *allocation);
// Removes the allocation that begins at BASE, and copies it to *OUT. Returns false if there is
// none.
bool memory_remove(uint64_t base, struct allocation *out);
// Finds the allocation that contains ADDRESS, and copies it to *OUT. Returns false if there is
// none.
bool memory_find(uint64_t address, struct allocation *out);
// Returns true if the address book contains, or has contained, page-locked memory that no GPU has
// in its address space.
bool memory_any_on_host(void);
// Returns true if host memory at ADDRESS is page-locked.
bool memory_is_page_locked(uint64_t address);
// Finds page-locked host memory that contains ADDRESS. Returns false if there is none or the box
// maps it.
bool memory_is_on_host(uint64_t address, struct allocation *out);
// Finds the allocation that contains the first of SIZE bytes at ADDRESS. Returns false unless one
// allocation, or consecutive mappings of physical memory, contain all of the bytes.
bool memory_find_span(uint64_t address, uint64_t size, struct allocation *out);
// Places are ranges of 2^HOST_PLACE_SHIFT bytes of the address space. host_places has a bit for
// each place (modulo HOST_PLACES) that has ever contained host memory which GPUs do not have at the
// program's address. Device memory lies elsewhere, so one load decides for most words that they are
// no pointer to such host memory.
enum { HOST_PLACE_SHIFT = 26, HOST_PLACES = 4096 };
extern _Atomic uint64_t host_places[HOST_PLACES / 64];
extern atomic_bool host_places_any; // any bit is set
static inline bool memory_may_be_on_host(uint64_t address)
{
    uint64_t place = (address >> HOST_PLACE_SHIFT) % HOST_PLACES;
    return atomic_load_explicit(&host_places[place / 64], memory_order_relaxed) >> place % 64 & 1;
}
// Returns how many bytes of device memory the program has from the box of SESSION.
uint64_t memory_of_session(const struct box_session *session);
// Returns true if any allocation overlaps the SIZE bytes at ADDRESS.
bool memory_overlaps(uint64_t address, uint64_t size);
// Reserves the addresses in this process that the box of SESSION has just reserved, so that no host
// memory gets them. Removes entries of graphs and modules there. Returns 0 or -errno as memory_add
// does.
int memory_keep_free(uint64_t address, uint64_t size, struct box_session *session);
// Sets sync_copies of the device allocation that contains ADDRESS. Returns false if there is none.
bool memory_mark_sync_copies(uint64_t address, bool on);
// Returns true if calls without Async must wait for their work at ADDRESS: the allocation has
// sync_copies, or is host memory in the GPU's address space.
bool memory_has_sync_copies(uint64_t address);
// Sets `exported` of the device allocation that contains ADDRESS.
void memory_mark_exported(uint64_t address);
// Sets `copied` of the host memory that contains ADDRESS.
void memory_mark_copied(uint64_t address);
// Enters the box's mirror of the host memory that begins at BASE, with the region and addresses of
// ROW; if ROW is NULL, removes the mirror. Returns false if no allocation begins at BASE.
bool memory_set_mirror(uint64_t base, const struct allocation *row);
// Returns true if copies treat *ADDRESS as GPU memory: it is device memory, or the box of the
// current context mirrors it. Then *ADDRESS becomes the GPU's address, and *FOUND the allocation.
bool memory_on_gpu(uint64_t *address, struct allocation *found);
// Removes all device memory of CONTEXT (a handle), which has ended.
void memory_forget_context(uint64_t context);

// Makes the allocation's context current if the current context belongs to another box. On success
// the caller passes *ENTERED to memory_leave, which restores the old context.
CUresult memory_enter(const struct allocation *allocation, bool *entered);
void memory_leave(bool entered);

#endif
