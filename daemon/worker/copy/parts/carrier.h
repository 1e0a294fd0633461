// SPDX-License-Identifier: BSD-3-Clause
// Carries bytes from and to the client's memory: one row for each kind of memory that a link offers
// (enum link_memory). All differences between the kinds are in the rows; no other code queries the
// kind of a link.
#ifndef RGPU_WORKER_CARRIER_H
#define RGPU_WORKER_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// No function of a row is NULL. HOST is the client's name of its memory (WIRE_HOST).
struct carrier {
    // Called when the link is open, before the first request. Returns -1 if a thread cannot start.
    int (*start)(void);
    // Copies SIZE bytes between DEVICE and HOST, in the order of STREAM.
    void (*copy)(struct serve *serve, bool to_device, CUdeviceptr device, uint64_t host,
                 uint64_t size, CUstream stream);
    // Checks the host side of a box copy (CUDA_MEMCPY3D), which accesses SIZE bytes from *HOST on.
    // If the worker maps that memory, *HOST becomes its address. Returns false if the client may
    // not name these bytes.
    bool (*resolve)(const void **host, uint64_t size);
    // Carries out a box copy, both sides of which are resolved.
    void (*copy_box)(struct serve *serve, CUDA_MEMCPY3D *copy, CUstream stream);
    // Sets the client's flag INDEX to VALUE when STREAM reaches this point.
    void (*signal)(struct serve *serve, uint32_t index, uint32_t value, CUstream stream);
    // Ends the client's use of a region.
    void (*forget)(struct serve *serve, uint32_t region);
    // true if the driver accepts the resolved host addresses
    bool addresses;
    // true if rows that the driver would not copy immediately go through a staging block
    bool blocks_for_rows;
    // enum staging_use of the blocks for data in a reply; -1: the reply's own buffer is used
    int reply_blocks;
};

extern const struct carrier carrier_mapped, carrier_one_sided, carrier_staged;

#endif
