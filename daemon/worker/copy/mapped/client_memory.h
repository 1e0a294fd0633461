// SPDX-License-Identifier: BSD-3-Clause
// The client's host memory (client_memory.c).
#ifndef RGPU_WORKER_CLIENT_MEMORY_H
#define RGPU_WORKER_CLIENT_MEMORY_H

#include <stdint.h>

#include "daemon/worker/request/serve.h"

// Our address of a client's WIRE_HOST name; NULL: not all of SIZE bytes are in a mapped region.
void *host_address(uint64_t host, uint64_t size);
// Ends the use of a region.
void host_memory_unmap(struct serve *serve, uint32_t number);
void host_memory_prepare(void);

// The steps to have memory at the client's addresses.
// Returns true if SIZE bytes at ADDRESS can be a region.
bool host_memory_sensible(uint64_t address, uint64_t size, uint32_t region);
// Maps the memory of FD at ADDRESS (FD -1: pages of our own). Returns CUDA_ERROR_ALREADY_MAPPED if
// other memory is mapped there.
CUresult host_memory_map(int fd, uint64_t offset, uint64_t address, uint64_t size, uint8_t **out);
// Registers the mapped memory with the GPU, and stores its device address in *DEVICE.
CUresult host_memory_register(void *base, uint64_t size, CUdeviceptr *device);

#endif
