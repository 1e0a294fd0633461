// SPDX-License-Identifier: BSD-3-Clause
// The client's host memory (client_memory.c).
#ifndef RGPU_WORKER_CLIENT_MEMORY_H
#define RGPU_WORKER_CLIENT_MEMORY_H

#include <stdint.h>

#include "worker/serve.h"

// Our address of a client's WIRE_HOST name; NULL: not all of SIZE bytes are in a mapped region.
void *host_address(uint64_t host, uint64_t size);
// Ends the use of a region.
void host_memory_unmap(struct serve *serve, uint32_t number);
void host_memory_prepare(void);

#endif
