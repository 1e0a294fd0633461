// SPDX-License-Identifier: BSD-3-Clause
// Queries: before cuInit, of the driver, of devices and of memory.
#include "tests/programs/driver.h"

static void before_init(void)
{
    int count = -1, version = 0;
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    const char *text = NULL;
    gives(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED, "devices before cuInit");
    gives(cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED, "a device before cuInit");
    gives(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED, "the context before cuInit");
    gives(cuMemAlloc(&memory, 16), CUDA_ERROR_NOT_INITIALIZED, "memory before cuInit");
    gives(cuDriverGetVersion(&version), CUDA_SUCCESS, "the version is known before cuInit");
    ok(version >= 12000 && version < 20000, "and sensible (%d)", version);
    gives(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS, "errors have names");
    is_str(text, "CUDA_ERROR_INVALID_VALUE", "the ABI's own");
    gives(cuGetErrorName((CUresult)123456, &text), CUDA_ERROR_INVALID_VALUE,
          "a number that is no error has none");
    gives(cuInit(1), CUDA_ERROR_INVALID_VALUE, "cuInit takes no flags");
}

static void devices(void)
{
    int count = 0, major = 0, minor = 0;
    CHECK(cuInit(0));
    gives(cuInit(0), CUDA_SUCCESS, "cuInit can be called again");
    CHECK(cuDeviceGetCount(&count));
    ok(count >= 1, "there are devices (%d)", count);
    CUdevice device, same;
    gives(cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE, "one past the last is none");
    gives(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE, "nor is -1");
    for (int d = 0; d < count; d++) {
        char name[256] = "", bus[32] = "";
        size_t total = 0;
        CUuuid uuid = {{0}}, zero = {{0}};
        CHECK(cuDeviceGet(&device, d));
        CHECK(cuDeviceGetName(name, sizeof name, device));
        CHECK(cuDeviceTotalMem(&total, device));
        CHECK(cuDeviceGetUuid(&uuid, device));
        CHECK(cuDeviceGetPCIBusId(bus, sizeof bus, device));
        diag("device %d: %s, %zu MiB, %s", d, name, total >> 20, bus);
        ok(*name, "device %d has a name", d);
        ok(total > 1 << 20 && total < 1ull << 42, "a sensible memory size");
        ok(memcmp(&uuid, &zero, sizeof uuid), "a UUID");
        gives(cuDeviceGetByPCIBusId(&same, bus), CUDA_SUCCESS, "and a bus address");
        is_int(same, device, "by which it can be found");
        char shortened[4];
        CHECK(cuDeviceGetName(shortened, sizeof shortened, device));
        ok(!strncmp(shortened, name, 3) && !shortened[3], "a name is cut to a small buffer");
        major = device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        minor = device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        ok(major >= 7 && minor >= 0, "compute capability %d.%d", major, minor);
        is_int(device_attribute(device, CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32, "warps of 32");
        ok(device_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) > 0,
           "multiprocessors");
        is_int(device_attribute(device, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1,
               "unified addressing");
    }
    int value;
    CHECK(cuDeviceGet(&device, 0));
    gives(cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, device), CUDA_ERROR_INVALID_VALUE,
          "an attribute that does not exist");
    gives(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 999),
          CUDA_ERROR_INVALID_DEVICE, "an attribute of a device that does not exist");
}

static void memory(void)
{
    size_t free_before = 0, free_after = 0, total = 0, size = 0;
    CUdeviceptr block = 0, base = 0;
    CUmemorytype type = 0;
    CHECK(cuMemGetInfo(&free_before, &total));
    // Far more than what other processes take or give back meanwhile.
    const size_t large = total / 4 < (size_t)4 << 30 ? total / 4 : (size_t)4 << 30;
    ok(free_before > 0 && free_before <= total, "free memory is part of all memory");
    CHECK(cuMemAlloc(&block, large));
    CHECK(cuMemGetInfo(&free_after, &total));
    ok(free_after + large / 2 < free_before, "an allocation shows in it");
    CHECK(cuMemGetAddressRange(&base, &size, block + 12345));
    ok(base == block && size == large, "an address leads to its allocation");
    gives(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block + 1), CUDA_SUCCESS,
          "a pointer has a memory type");
    is_int(type, CU_MEMORYTYPE_DEVICE, "the device's");
    gives(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&size),
          CUDA_ERROR_INVALID_VALUE, "an address of the program's own has none");
    gives(cuMemFree(block), CUDA_SUCCESS, "memory can be freed");
    gives(cuMemFree(block), CUDA_ERROR_INVALID_VALUE, "but not twice");
    gives(cuMemFree(0), CUDA_SUCCESS, "freeing 0 is nothing");
    CHECK(cuMemGetInfo(&free_after, &total));
    ok(free_after + large / 2 > free_before, "what was freed is free");
    gives(cuMemAlloc(&block, 0), CUDA_ERROR_INVALID_VALUE, "no allocation of 0 bytes");
    gives(cuMemAlloc(&block, (size_t)1 << 50), CUDA_ERROR_OUT_OF_MEMORY,
          "no allocation of a pebibyte");
    CHECK(cuMemAlloc(&block, 1));
    ok(block % 256 == 0, "allocations are aligned to 256 bytes");
    CHECK(cuMemFree(block));
}

int main(void)
{
    before_init();
    devices();
    struct gpu gpu = open_gpu(0);
    memory();
    gives(cuProfilerStart(), CUDA_SUCCESS, "a profiler can be started");
    gives(cuProfilerStop(), CUDA_SUCCESS, "and stopped");
    close_gpu(&gpu);
    return done();
}
