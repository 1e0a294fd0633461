// SPDX-License-Identifier: BSD-3-Clause
// The devices of the box as the driver shows them, and their primary contexts. The worker holds a
// reference of its own to each primary context that it made, so that it stays warm.
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "worker/setup.h"
#include "worker/worker.h"

struct devices devices;

// Where the supervisor names no devices they are all ours, and numbered as the driver does.
static int place_of(CUdevice device, int driver_ordinal)
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

CUresult devices_discover(void)
{
    int count = 0;
    CUresult result = driver.cuInit(0);

    if (result == CUDA_SUCCESS)
        result = driver.cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS)
        return result;
    if (driver.cuDriverGetVersion)
        driver.cuDriverGetVersion(&devices.driver_version);
    for (int i = 0; i < count && result == CUDA_SUCCESS; i++) {
        CUdevice device;
        result = driver.cuDeviceGet(&device, i);
        int place = result == CUDA_SUCCESS ? place_of(device, i) : -1;
        if (place < 0 || place >= DEVICES_MAX)
            continue;
        devices.list[place] = (struct device){.present = true, .handle = device};
        if (place >= devices.count)
            devices.count = place + 1;
    }
    return result;
}

// Asked once for each device, where the driver tells.
static uint64_t page_size(CUdevice device)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    size_t size = 0;

    if (!driver.cuMemGetAllocationGranularity ||
        driver.cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) !=
            CUDA_SUCCESS)
        return 0;
    return size;
}

static int attribute(CUdevice device, CUdevice_attribute name)
{
    int value = 0;

    return driver.cuDeviceGetAttribute(&value, name, device) == CUDA_SUCCESS ? value : 0;
}

void devices_describe(struct control_device *out)
{
    for (int i = 0; i < devices.count; i++) {
        CUdevice device = devices.list[i].handle;
        size_t total = 0;
        CUuuid uuid = {{0}};
        devices.list[i].page = page_size(device);
        memset(&out[i], 0, sizeof(out[i]));
        if (!devices.list[i].present)
            continue;
        if (driver.cuDeviceGetUuid_v2)
            driver.cuDeviceGetUuid_v2(&uuid, device);
        memcpy(out[i].uuid, uuid.bytes, sizeof(uuid.bytes));
        if (driver.cuDeviceGetName)
            driver.cuDeviceGetName(out[i].name, (int)sizeof(out[i].name), device);
        snprintf(out[i].pci, sizeof(out[i].pci), "%04x:%02x:%02x.0",
                 attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID) & 0xffff,
                 attribute(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) & 0xff,
                 attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID) & 0xff);
        if (driver.cuDeviceTotalMem_v2)
            driver.cuDeviceTotalMem_v2(&total, device);
        out[i].memory = total;
        out[i].context_cost = devices.list[i].context_cost;
        out[i].capability =
            (uint32_t)(attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                       attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    }
}

CUresult device_primary(int ordinal, CUcontext *out)
{
    struct device *device = &devices.list[ordinal];
    CUresult result = CUDA_SUCCESS;

    if (!device->primary)
        result = driver.cuDevicePrimaryCtxRetain(&device->primary, device->handle);
    if (result != CUDA_SUCCESS) {
        device->primary = NULL;
        return result;
    }
    *out = device->primary;
    return CUDA_SUCCESS;
}

CUresult device_reset(int ordinal)
{
    struct device *device = &devices.list[ordinal];
    CUcontext old = device->primary, fresh;
    bool held_pinned = old && pinned.owner == old;

    if (!old)
        return CUDA_SUCCESS;
    driver.cuCtxSetCurrent(old);
    if (held_pinned)
        pinned_unregister();
    CUresult result = driver.cuDevicePrimaryCtxReset_v2(device->handle);
    atomic_fetch_add(&session.context_epoch, 1);
    driver.cuCtxSetCurrent(NULL);
    device->primary = NULL;
    if (result != CUDA_SUCCESS)
        return result;
    // Our reference went with the reset in some drivers and not in others.
    driver.cuDevicePrimaryCtxRelease_v2(device->handle);
    result = device_primary(ordinal, &fresh);
    if (result == CUDA_SUCCESS && held_pinned) {
        result = driver.cuCtxSetCurrent(fresh);
        if (result == CUDA_SUCCESS)
            result = pinned_register();
        driver.cuCtxSetCurrent(NULL);
    }
    return result;
}
