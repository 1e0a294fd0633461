// SPDX-License-Identifier: BSD-3-Clause
// What becomes of memory that other processes have opened, and of what is opened here (ipc_memory.c).
#ifndef SIM_IPC_MEMORY_H
#define SIM_IPC_MEMORY_H

#include "sim/device.h"

// An allocation is about to be given back. OWN_PAGES: no other lies in its pages.
void ipc_memory_freed(uint64_t base, size_t size, bool own_pages);
// An import has left the table of ranges, with its last use or its context.
void ipc_memory_closed(struct device *device, uint64_t base);

#endif
