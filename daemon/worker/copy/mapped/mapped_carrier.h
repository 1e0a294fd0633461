// SPDX-License-Identifier: BSD-3-Clause
// Carrier for host memory that both sides map: the GPU copies directly. See carrier.h.
#ifndef RGPU_WORKER_MAPPED_CARRIER_H
#define RGPU_WORKER_MAPPED_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

void mapped_copy(struct serve *serve, bool to_device, CUdeviceptr device, uint64_t host,
                 uint64_t size, CUstream stream);
bool mapped_resolve(const void **host, uint64_t size);
void mapped_copy_box(struct serve *serve, CUDA_MEMCPY3D *copy, CUstream stream);
// The GPU writes the flag, which client and worker both map.
void mapped_signal(struct serve *serve, uint32_t index, uint32_t value, CUstream stream);

#endif
