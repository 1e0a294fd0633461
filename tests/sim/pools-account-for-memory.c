// SPDX-License-Identifier: BSD-3-Clause
// Stream-ordered allocation: order, accounting, thresholds, and what pools say of themselves.
#include "tests/sim/sim_test.h"

enum { MIB = 1 << 20 };

static size_t free_memory(void)
{
    size_t left, total;
    CHECK(cuMemGetInfo(&left, &total));
    return left;
}

static uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
    uint64_t value = 0;
    CHECK(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

static void check_order(CUmemoryPool pool, CUstream stream)
{
    uint32_t *gate = sim_word();
    CUdeviceptr address;
    unsigned char byte = 0;
    CHECK(cuMemAllocAsync(&address, 8 * MIB, stream));
    sim_close_gate(stream, gate);
    CHECK(cuMemsetD8Async(address, 3, 8 * MIB, stream));
    CHECK(cuMemcpyDtoHAsync(gate + 1, address, 1, stream));
    CHECK(cuMemFreeAsync(address, stream));
    is_int(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0,
           "what has been freed is not in use");
    is_int(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 8 * MIB,
           "the pool has it until the stream comes to the free");
    CUmemorytype type;
    gives(cuMemsetD8Async(address, 9, MIB, stream), CUDA_ERROR_INVALID_VALUE,
          "though no call may name it any more, even in that stream");
    gives(cuMemcpyDtoHAsync(gate + 1, address, 1, stream), CUDA_ERROR_INVALID_VALUE, "to copy it");
    gives(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
          CUDA_ERROR_INVALID_VALUE, "or to ask about it");
    sim_open_gate(gate);
    CHECK(cuStreamSynchronize(stream));
    memcpy(&byte, gate + 1, 1);
    is_int(byte, 3, "work before the free had it");
    is_int(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0, "then it is free");
    gives(cuMemcpyDtoH(&byte, address, 1), CUDA_ERROR_INVALID_VALUE, "and out of reach");
    gives(cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_VALUE, "it is freed once");
}

static void check_threshold(CUmemoryPool pool, CUstream stream)
{
    CUdeviceptr address;
    uint64_t keep = 64 * MIB, nothing = 0;
    size_t before = free_memory();
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    CHECK(cuMemAllocAsync(&address, 32 * MIB, stream));
    CHECK(cuMemFreeAsync(address, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(free_memory(), before - 32 * MIB, "a pool keeps memory up to its threshold");
    is_int(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 32 * MIB, "and says so");
    CHECK(cuMemPoolTrimTo(pool, 16 * MIB));
    is_int(free_memory(), before - 16 * MIB, "trimming gives it back down to what is named");
    is_int(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 32 * MIB,
           "the high-water mark remembers");
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &nothing));
    is_int(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 16 * MIB, "until it is reset");
    CUdeviceptr rest;
    gives(cuMemAlloc(&rest, before), CUDA_SUCCESS, "what a pool keeps is given up to who needs it");
    CHECK(cuMemFree(rest));
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &nothing));
}

int main(void)
{
    sim_isolate("1", "256M");
    sim_context(0);
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    CUmemoryPool fallback, own;
    CUdeviceptr address;
    CHECK(cuDeviceGetDefaultMemPool(&fallback, 0));
    check_order(fallback, stream);
    check_threshold(fallback, stream);

    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                 .maxSize = 8 * MIB};
    size_t before = free_memory();
    CHECK(cuMemPoolCreate(&own, &properties));
    CHECK(cuMemAllocFromPoolAsync(&address, 6 * MIB, own, stream));
    CUmemoryPool owner;
    CHECK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
    ok(owner == own, "an address knows its pool");
    CUdeviceptr second;
    gives(cuMemAllocFromPoolAsync(&second, 4 * MIB, own, stream), CUDA_ERROR_OUT_OF_MEMORY,
          "a pool keeps to its largest size");
    CUmemAccess_flags access;
    CHECK(cuMemPoolGetAccess(&access, own, &properties.location));
    is_int(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "its device can use it");
    gives(cuMemPoolDestroy(own), CUDA_SUCCESS, "a pool in use can be destroyed");
    gives(cuMemFree(address), CUDA_SUCCESS, "its memory is freed later");
    is_int(free_memory(), before, "and all of it comes back");
    gives(cuMemPoolDestroy(fallback), CUDA_ERROR_INVALID_VALUE, "the default pool stays");
    for (int i = 0; i < 6; i++) {
        CHECK(cuMemAllocAsync(&address, 180 * (size_t)MIB, stream));
        CHECK(cuMemFreeAsync(address, stream));
    }
    pass("memory that the stream is about to free counts as there");
    CHECK(cuStreamSynchronize(stream));
    is_int(free_memory(), before, "nothing is lost");
    return done();
}
