// SPDX-License-Identifier: BSD-3-Clause
// Requests that access memory of the client one-sidedly (one_sided_requests.c). The thread that
// takes requests calls these functions.
#ifndef RGPU_WORKER_ONE_SIDED_REQUESTS_H
#define RGPU_WORKER_ONE_SIDED_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// Ends the use of a region after the copies that use it have ended.
void one_sided_forget_region(struct serve *serve, uint32_t region);
// Copies SIZE bytes between the device and the client's WIRE_HOST name HOST, in stream order.
void one_sided_copy(struct serve *serve, bool to_device, CUdeviceptr device, uint64_t host,
                    uint64_t size, CUstream stream);
// Copies rows between memory of the client and of the device, both of which are checked already.
void one_sided_copy_box(struct serve *serve, const CUDA_MEMCPY3D *copy, CUstream stream);
// Returns true if the link has access to SIZE bytes at the client's WIRE_HOST name.
bool one_sided_has(uint64_t host, uint64_t size);
// Sets flag INDEX of the client to VALUE when STREAM reaches this point.
void one_sided_signal(struct serve *serve, uint32_t index, uint32_t value, CUstream stream);
// Sends the flag right after the data of the stream's last request, a copy from the device. Returns
// false if that copy is over.
bool one_sided_flag(CUstream stream, uint32_t index, uint32_t value);
// Called before a request that is neither a copy nor a signal, so that later moves do not `follow`
// earlier ones.
void one_sided_break_row(void);

#endif
