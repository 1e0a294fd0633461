// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/copy/mapped/mapped_carrier.h"

#include "daemon/worker/copy/parts/carrier.h"
#include "daemon/worker/copy/mapped/client_memory.h"
#include "daemon/worker/copy/parts/pinned.h"

static int start_nothing(void)
{
    return 0;
}

void mapped_copy(struct serve *serve, bool to_device, CUdeviceptr device, uint64_t host,
                 uint64_t size, CUstream stream)
{
    void *address = host_address(host, size);

    if (!address)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (to_device && serve_require(serve, driver.cuMemcpyHtoDAsync_v2) &&
        serve_device_range(serve, device, size))
        serve_fail(serve, driver.cuMemcpyHtoDAsync_v2(device, address, size, stream));
    if (!to_device && serve_require(serve, driver.cuMemcpyDtoHAsync_v2) &&
        serve_device_range(serve, device, size))
        serve_fail(serve, driver.cuMemcpyDtoHAsync_v2(address, device, size, stream));
}

bool mapped_resolve(const void **host, uint64_t size)
{
    *host = host_address((uint64_t)(uintptr_t)*host, size);
    return *host != NULL;
}

void mapped_copy_box(struct serve *serve, CUDA_MEMCPY3D *copy, CUstream stream)
{
    if (serve_require(serve, driver.cuMemcpy3DAsync_v2))
        serve_fail(serve, driver.cuMemcpy3DAsync_v2(copy, stream));
}

void mapped_signal(struct serve *serve, uint32_t index, uint32_t value, CUstream stream)
{
    if (serve_require(serve, driver.cuStreamWriteValue32_v2))
        serve_fail(serve,
                   driver.cuStreamWriteValue32_v2(stream, pinned.flags_device + (size_t)index * 4,
                                                  value, CU_STREAM_WRITE_VALUE_DEFAULT));
}

const struct carrier carrier_mapped = {
    .start = start_nothing,
    .copy = mapped_copy,
    .resolve = mapped_resolve,
    .copy_box = mapped_copy_box,
    .signal = mapped_signal,
    .forget = host_memory_unmap,
    .addresses = true,
    .reply_blocks = -1, // the staging blocks are the client's
};
