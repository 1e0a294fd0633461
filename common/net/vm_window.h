// SPDX-License-Identifier: BSD-3-Clause
// Window: a sealed memory file that a box shares with a virtual machine on its host. QEMU maps it
// as the second BAR of an ivshmem device. The box decides which parts are free, and trusts no value
// that it reads from the window.
//
//   offset      size            content
//   0           VM_WINDOW_HEAD  struct vm_window_head, written once by the box
//   .           .               parts of sessions: rings and staging blocks
//                               (transport/shm/shm_memory.h), and page-locked memory of programs
#ifndef RGPU_COMMON_VM_WINDOW_H
#define RGPU_COMMON_VM_WINDOW_H

#include <stdint.h>

#define VM_WINDOW_MAGIC "rgpuwin1"

enum {
    VM_WINDOW_VENDOR = 0x1af4, // ids of the PCI device
    VM_WINDOW_DEVICE = 0x1110,
    VM_WINDOW_ALIGN = 64 * 1024,
    VM_WINDOW_HEAD = VM_WINDOW_ALIGN,
    VM_WINDOW_ID_TEXT = 33, // 128 random bits in hexadecimal, and a NUL
    VM_WINDOW_SLOTS = 64,   // maximum number of concurrent sessions
    // Doorbells of a session, each a peer of the ivshmem device, for the worker's waits: for
    // records, and for space to send.
    VM_WINDOW_DOORBELLS = 2,
    VM_WINDOW_DOORBELL = 12, // register of BAR 0; the upper half of the value written is the peer
};

struct vm_window_head {
    char magic[8];
    uint64_t size;
    char id[VM_WINDOW_ID_TEXT];
};

// Returns the peer number of a doorbell. Number 0 is the virtual machine itself.
static inline uint32_t vm_window_peer(uint32_t slot, uint32_t doorbell)
{
    return 1 + slot * VM_WINDOW_DOORBELLS + doorbell;
}

// Returns the bytes of a session's rings and staging blocks.
static inline uint64_t vm_window_session(uint64_t block_size, uint64_t block_count)
{
    enum { HEADER_AND_FLAGS = 2 * VM_WINDOW_ALIGN, RINGS = 2 << 20 };
    uint64_t size = HEADER_AND_FLAGS + RINGS + block_size * block_count;

    return (size + VM_WINDOW_ALIGN - 1) / VM_WINDOW_ALIGN * VM_WINDOW_ALIGN;
}

#endif
