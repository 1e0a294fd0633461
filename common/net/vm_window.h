// SPDX-License-Identifier: BSD-3-Clause
// The window of memory that a box has into a virtual machine on its host: one sealed memory file,
// of which QEMU makes the second BAR of an ivshmem device. The box lays it out, and decides what is
// free. The box trusts no value that it reads from the window.
//
//   offset      size            what
//   0           VM_WINDOW_HEAD  struct vm_window_head: which window this is, written once by the
//                               box
//   .           .               parts of sessions: their rings and staging blocks
//                               (transport/shm/shm_memory.h), and the page-locked memory of
//                               their programs
#ifndef RGPU_COMMON_VM_WINDOW_H
#define RGPU_COMMON_VM_WINDOW_H

#include <stdint.h>

#define VM_WINDOW_MAGIC "rgpuwin1"

enum {
    VM_WINDOW_VENDOR = 0x1af4, // of the PCI device
    VM_WINDOW_DEVICE = 0x1110,
    VM_WINDOW_ALIGN = 64 * 1024,
    VM_WINDOW_HEAD = VM_WINDOW_ALIGN,
    VM_WINDOW_ID_TEXT = 33, // 128 random bits in hex, and the end
    VM_WINDOW_SLOTS = 64,   // sessions at a time
    // Doorbells of a session, each a peer of the ivshmem device: the worker waits for records, or
    // for room to send.
    VM_WINDOW_DOORBELLS = 2,
    VM_WINDOW_DOORBELL = 12, // register of BAR 0; the upper half of a value is the peer
};

struct vm_window_head {
    char magic[8];
    uint64_t size;
    char id[VM_WINDOW_ID_TEXT];
};

// The peer of a doorbell. Number 0 is the virtual machine itself, which gets none.
static inline uint32_t vm_window_peer(uint32_t slot, uint32_t doorbell)
{
    return 1 + slot * VM_WINDOW_DOORBELLS + doorbell;
}

// Bytes of a session's rings and staging blocks.
static inline uint64_t vm_window_session(uint64_t block_size, uint64_t block_count)
{
    enum { HEADER_AND_FLAGS = 2 * VM_WINDOW_ALIGN, RINGS = 2 << 20 };
    uint64_t size = HEADER_AND_FLAGS + RINGS + block_size * block_count;

    return (size + VM_WINDOW_ALIGN - 1) / VM_WINDOW_ALIGN * VM_WINDOW_ALIGN;
}

#endif
