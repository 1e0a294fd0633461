// SPDX-License-Identifier: BSD-3-Clause
// A carrier moves bytes to and from the client's memory. There is one for each kind of memory that
// a link offers (enum link_memory); no other code depends on the kind.
#ifndef RGPU_WORKER_CARRIER_H
#define RGPU_WORKER_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// No function pointer is NULL. HOST is the client's name of its memory (WIRE_HOST).
struct carrier {
    // Called once, before the first request. Returns 0, or -1 if a thread cannot start.
    int (*start)(void);
    // Copies SIZE bytes between DEVICE and HOST in the order of STREAM.
    void (*copy)(struct serve *serve, bool to_device, CUdeviceptr device, uint64_t host,
                 uint64_t size, CUstream stream);
    // Checks the host side of a box copy (CUDA_MEMCPY3D), which accesses SIZE bytes from *HOST on.
    // If the worker maps that memory, sets *HOST to its address. Returns false if the client has no
    // such memory.
    bool (*resolve)(const void **host, uint64_t size);
    // Executes a box copy; both sides are resolved.
    void (*copy_box)(struct serve *serve, CUDA_MEMCPY3D *copy, CUstream stream);
    // Sets the client's flag INDEX to VALUE when STREAM reaches this point.
    void (*signal)(struct serve *serve, uint32_t index, uint32_t value, CUstream stream);
    // Forgets a region of the client.
    void (*forget)(struct serve *serve, uint32_t region);
    // the driver accepts resolved host addresses
    bool addresses;
    // rows that the driver would not copy at once go through a staging block
    bool blocks_for_rows;
    // enum staging_use of blocks for data in a reply; -1: the reply's own buffer
    int reply_blocks;
};

extern const struct carrier carrier_mapped, carrier_one_sided, carrier_staged;

#endif
