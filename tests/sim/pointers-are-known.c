// SPDX-License-Identifier: BSD-3-Clause
// Attributes of addresses, and pinned host memory.
#include "tests/sim/sim_test.h"

static void check_device(CUcontext context)
{
    CUdeviceptr base = device_alloc(1000), start = 0;
    CUcontext owner = NULL;
    int type = 0, ordinal = -1;
    size_t size = 0;
    CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base + 999));
    is_int(type, CU_MEMORYTYPE_DEVICE, "device memory is the device's to its last byte");
    CHECK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, base));
    ok(owner == context, "and belongs to its context");
    CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, base));
    is_int(ordinal, 0, "on its device");
    CHECK(cuMemGetAddressRange(&start, &size, base + 500));
    ok(start == base && size == 1000, "its range is what was asked for");
    gives(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base + 1000),
          CUDA_ERROR_INVALID_VALUE, "the byte behind it is nobody's");
    CHECK(cuMemFree(base));
    gives(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base),
          CUDA_ERROR_INVALID_VALUE, "nor is freed memory");
    gives(cuMemFree(base), CUDA_ERROR_INVALID_VALUE, "which is freed once");
}

static void check_host(void)
{
    void *pinned, *page;
    int type = 0;
    unsigned flags = 0;
    CUdeviceptr device = 0;
    CHECK(cuMemHostAlloc(&pinned, 5000, CU_MEMHOSTALLOC_PORTABLE));
    CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                (CUdeviceptr)(uintptr_t)pinned));
    is_int(type, CU_MEMORYTYPE_HOST, "pinned memory is the host's");
    CHECK(cuMemHostGetFlags(&flags, pinned));
    ok(flags & CU_MEMHOSTALLOC_PORTABLE, "with the flags that were given");
    CHECK(cuMemHostGetDevicePointer(&device, (char *)pinned + 16, 0));
    is_int(device, (intptr_t)pinned + 16, "the device reaches it at the same address");
    if (posix_memalign(&page, 4096, 8192))
        bail("no memory");
    CHECK(cuMemHostRegister(page, 8192, CU_MEMHOSTREGISTER_PORTABLE));
    gives(cuMemHostRegister((char *)page + 4096, 4096, 0),
          CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "memory is registered once");
    gives(cuMemFreeHost(page), CUDA_ERROR_INVALID_VALUE, "registered memory is not freed");
    gives(cuMemHostUnregister(pinned), CUDA_ERROR_INVALID_VALUE,
          "nor allocated memory unregistered");
    CHECK(cuMemHostUnregister(page));
    gives(cuMemHostRegister((void *)4096, 4096, 0), CUDA_ERROR_INVALID_VALUE,
          "memory that is not there cannot be registered");
    CHECK(cuMemFreeHost(pinned));
    free(page);
}

static void check_unknown(void)
{
    int local, type = 7, ordinal = 0;
    uint64_t range = 7;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *data[] = {&type, &range, &ordinal};
    gives(cuPointerGetAttributes(3, wanted, data, (CUdeviceptr)(uintptr_t)&local), CUDA_SUCCESS,
          "many attributes of an unknown address are no error");
    is_int(type, 0, "it has no type");
    is_int(range, 0, "and no size");
    is_int(ordinal, CU_DEVICE_INVALID, "and is on no device");
}

int main(void)
{
    sim_isolate("1", "256M");
    CUcontext context = sim_context(0);
    check_device(context);
    check_host();
    check_unknown();
    return done();
}
