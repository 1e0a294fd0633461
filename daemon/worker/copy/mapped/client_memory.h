// SPDX-License-Identifier: BSD-3-Clause
// Host memory of the client that the worker maps.
#ifndef RGPU_WORKER_CLIENT_MEMORY_H
#define RGPU_WORKER_CLIENT_MEMORY_H

#include <stdint.h>

#include "daemon/worker/request/serve.h"

// Returns the worker's address for a client's WIRE_HOST name; NULL if not all SIZE bytes are in a
// mapped region.
void *host_address(uint64_t host, uint64_t size);
// Unmaps a region.
void host_memory_unmap(struct serve *serve, uint32_t number);
void host_memory_prepare(void);

// Steps of mapping memory at the client's addresses. Returns true if SIZE bytes at ADDRESS can be a
// region.
bool host_memory_sensible(uint64_t address, uint64_t size, uint32_t region);
// Maps the memory of FD (-1: new pages) at ADDRESS. Returns CUDA_ERROR_ALREADY_MAPPED if other
// memory is there.
CUresult host_memory_map(int fd, uint64_t offset, uint64_t address, uint64_t size, uint8_t **out);
// Registers mapped memory with the GPU. *DEVICE receives its device address.
CUresult host_memory_register(void *base, uint64_t size, CUdeviceptr *device);

#endif
