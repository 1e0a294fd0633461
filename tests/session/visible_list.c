// SPDX-License-Identifier: BSD-3-Clause
// Prints a program's view of its devices and the results of its calls on each: the same natively
// and through boxes.
#include "tests/programs/driver.h"

static void show_device(CUdevice device)
{
    CUuuid uuid;
    char bus[32];
    CUdevice again = -1, current = -1;
    CUcontext context;
    CUdeviceptr memory;
    int ordinal = -1, peers = 0, count;
    CUmemoryPool pool;
    CUmemPoolProps wanted = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    CHECK(cuDeviceGetUuid(&uuid, device));
    CHECK(cuDeviceGetPCIBusId(bus, sizeof(bus), device));
    CHECK(cuDeviceGetByPCIBusId(&again, bus));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuCtxGetDevice(&current));
    CHECK(cuMemPoolCreate(&pool, &wanted));
    CHECK(cuMemAllocFromPoolAsync(&memory, 4096, pool, NULL));
    CHECK(cuMemsetD8(memory, 7, 4096));
    CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
    CHECK(cuMemFreeAsync(memory, NULL));
    CHECK(cuMemPoolDestroy(pool));
    CHECK(cuDeviceGetCount(&count));
    for (CUdevice other = 0; other < count; other++) {
        int reaches = 0;
        CHECK(cuDeviceCanAccessPeer(&reaches, device, other));
        peers += reaches;
    }
    printf("device %d uuid %02x bus %s found %d current %d memory %d peers %d\n", device,
           (unsigned char)uuid.bytes[15], bus, again, current, ordinal, peers);
}

int main(void)
{
    int count = -1;
    CUresult result = cuInit(0);
    printf("cuInit %d\n", result);
    if (result != CUDA_SUCCESS)
        return 0;
    CHECK(cuDeviceGetCount(&count));
    printf("devices %d\n", count);
    for (CUdevice device = 0; device < count; device++)
        show_device(device);
    return 0;
}
