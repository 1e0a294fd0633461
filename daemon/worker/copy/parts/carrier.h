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

// No function of a row is NULL. HOST is a client's name for its memory (WIRE_HOST).
struct carrier {
    // Once the link stands, before the first request. Status -1: threads are missing.
    int (*start)(void);
    // A copy of SIZE bytes between DEVICE and HOST, in the order of STREAM.
    void (*copy)(struct serve *serve, bool to_device, CUdeviceptr device, uint64_t host,
                 uint64_t size, CUstream stream);
    // Checks the host side of a box, which touches SIZE bytes from *HOST on, and puts an address of
    // ours there where it has one. False: they are not the client's to name.
    bool (*resolve)(const void **host, uint64_t size);
    // A copy of a box whose sides have been resolved.
    void (*copy_box)(struct serve *serve, CUDA_MEMCPY3D *copy, CUstream stream);
    // Has the client's flag INDEX become VALUE when STREAM comes here.
    void (*signal)(struct serve *serve, uint32_t index, uint32_t value, CUstream stream);
    // Ends the client's use of a region.
    void (*forget)(struct serve *serve, uint32_t region);
    // true if the host sides of boxes are addresses that the driver accepts
    bool addresses;
    // true if rows that the driver would not copy at once go through a block, so that no thread
    // waits for the block
    bool blocks_for_rows;
    // enum staging_use of what leaves in a reply; -1: the reply's own buffer has to do
    int reply_blocks;
};

extern const struct carrier carrier_mapped, carrier_one_sided, carrier_staged;

#endif
