// SPDX-License-Identifier: BSD-3-Clause
// Requests that access the client's memory by RDMA. Called by the thread that serves the request.
#ifndef RGPU_WORKER_ONE_SIDED_REQUESTS_H
#define RGPU_WORKER_ONE_SIDED_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// Forgets a region, after the copies that use it have ended.
void one_sided_forget_region(struct serve *serve, uint32_t region);
// Copies SIZE bytes between the device and the client's WIRE_HOST name HOST, in stream order.
void one_sided_copy(struct serve *serve, bool to_device, CUdeviceptr device, uint64_t host,
                    uint64_t size, CUstream stream);
// Copies rows between memory of the client and of the device. The caller has checked both.
void one_sided_copy_box(struct serve *serve, const CUDA_MEMCPY3D *copy, CUstream stream);
// Returns true if SIZE bytes at HOST, a client's WIRE_HOST name, are exposed.
bool one_sided_has(uint64_t host, uint64_t size);
// Sets flag INDEX of the client to VALUE when STREAM reaches this point.
void one_sided_signal(struct serve *serve, uint32_t index, uint32_t value, CUstream stream);
// Sends the flag directly after the data of the stream's last request, a copy from the device.
// Returns false if that copy has ended.
bool one_sided_flag(CUstream stream, uint32_t index, uint32_t value);
// Must be called before a request that is neither copy nor signal, so that later moves do not
// `follow` earlier ones.
void one_sided_break_row(void);

#endif
