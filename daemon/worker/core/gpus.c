// SPDX-License-Identifier: BSD-3-Clause
// Devices as the driver reports them, and their primary contexts. The worker has its own reference
// to each primary context, so that it stays initialized.
#include "daemon/worker/core/gpus.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/net/control.h"
#include "common/base/log.h"
#include "daemon/worker/core/empty_kernel.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"

struct gpus gpus;

// If the supervisor names no devices, all are ours, numbered as by the driver.
static int gpus_place_of(CUdevice device, int driver_ordinal)
{
    CUuuid uuid = {{0}};

    if (!setup.gpus_count)
        return driver_ordinal;
    if (!driver.cuDeviceGetUuid_v2 || driver.cuDeviceGetUuid_v2(&uuid, device) != CUDA_SUCCESS)
        return -1;
    for (unsigned i = 0; i < setup.gpus_count; i++)
        if (!memcmp(setup.gpus[i].uuid, uuid.bytes, sizeof(uuid.bytes)))
            return (int)setup.gpus[i].ordinal;
    return -1;
}

CUresult gpus_discover(void)
{
    int count = 0;
    CUresult result = driver.cuInit(0);

    if (result == CUDA_SUCCESS)
        result = driver.cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS)
        return result;
    if (driver.cuDriverGetVersion)
        driver.cuDriverGetVersion(&gpus.driver_version);
    for (int i = 0; i < count && result == CUDA_SUCCESS; i++) {
        CUdevice device;
        result = driver.cuDeviceGet(&device, i);
        int place = result == CUDA_SUCCESS ? gpus_place_of(device, i) : -1;
        if (place < 0 || place >= GPUS_MAX)
            continue;
        gpus.list[place] =
            (struct gpu){.present = true, .handle = device, .number = (uint32_t)place};
        if (place >= gpus.count)
            gpus.count = place + 1;
    }
    return result;
}

// Asked once for each device, where the driver tells. Pages as small as the host's differ too
// little from what was asked for to be counted.
static uint64_t page_size(CUdevice device)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    size_t size = 0;

    if (!driver.cuMemGetAllocationGranularity ||
        driver.cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) !=
            CUDA_SUCCESS)
        return 0;
    return size > (size_t)sysconf(_SC_PAGESIZE) ? size : 0;
}

static int gpus_attribute(CUdevice device, CUdevice_attribute name)
{
    int value = 0;

    return driver.cuDeviceGetAttribute(&value, name, device) == CUDA_SUCCESS ? value : 0;
}

void gpu_pci(int ordinal, char *text, size_t room)
{
    CUdevice device = gpus.list[ordinal].handle;

    snprintf(text, room, "%04x:%02x:%02x.0",
             gpus_attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID) & 0xffff,
             gpus_attribute(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) & 0xff,
             gpus_attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID) & 0xff);
}

unsigned gpu_arch(int ordinal)
{
    CUdevice device = gpus.list[ordinal].handle;

    return (unsigned)(gpus_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                      gpus_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

void gpus_describe(struct control_device *out)
{
    for (int i = 0; i < gpus.count; i++) {
        CUdevice device = gpus.list[i].handle;
        size_t total = 0;
        CUuuid uuid = {{0}};
        gpus.list[i].page = page_size(device);
        memset(&out[i], 0, sizeof(out[i]));
        if (!gpus.list[i].present)
            continue;
        if (driver.cuDeviceGetUuid_v2)
            driver.cuDeviceGetUuid_v2(&uuid, device);
        memcpy(out[i].uuid, uuid.bytes, sizeof(uuid.bytes));
        if (driver.cuDeviceGetName)
            driver.cuDeviceGetName(out[i].name, (int)sizeof(out[i].name), device);
        gpu_pci(i, out[i].pci, sizeof(out[i].pci));
        if (driver.cuDeviceTotalMem_v2)
            driver.cuDeviceTotalMem_v2(&total, device);
        out[i].memory = total;
        out[i].context_cost = gpus.list[i].context_cost;
        out[i].capability = gpu_arch(i);
    }
}

// A worker has it before its client comes, and with it the driver's compiler, which would take 10
// ms of a program's first module.
static CUresult make_primary(struct gpu *device)
{
    CUcontext ignored;
    CUresult result = driver.cuDevicePrimaryCtxRetain(&device->primary, device->handle);

    if (result != CUDA_SUCCESS)
        device->primary = NULL;
    else if (driver.cuCtxPushCurrent_v2(device->primary) == CUDA_SUCCESS) {
        empty_kernel_run();
        driver.cuCtxPopCurrent_v2(&ignored);
    }
    return result;
}

CUresult gpu_primary(int ordinal, CUcontext *out)
{
    struct gpu *device = &gpus.list[ordinal];
    CUresult result = device->primary ? CUDA_SUCCESS : make_primary(device);

    if (result == CUDA_SUCCESS)
        *out = device->primary;
    return result;
}

int gpu_place_of(uint32_t number)
{
    for (int i = 0; i < gpus.count; i++)
        if (gpus.list[i].present && gpus.list[i].number == number)
            return i;
    return -1;
}

uint64_t gpus_used(void)
{
    uint64_t total = 0;

    for (int i = 0; i < gpus.count; i++)
        total += atomic_load(&gpus.list[i].used);
    return total;
}
