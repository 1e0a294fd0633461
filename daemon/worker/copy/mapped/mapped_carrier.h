// SPDX-License-Identifier: BSD-3-Clause
// Copies by the GPU itself, to and from host memory that both sides map (mapped_carrier.c).
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
// The GPU writes our flag, which the client sees where it maps it.
void mapped_signal(struct serve *serve, uint32_t index, uint32_t value, CUstream stream);

#endif
