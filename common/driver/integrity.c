// SPDX-License-Identifier: BSD-3-Clause
// Computes the driver's answer to the runtime's integrity check: an HMAC-MD2 over what both sides
// know about the process, the driver and its devices.
#include "common/driver/integrity.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "common/driver/md2.h"

CUresult cuDriverGetVersion(int *version);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device);

static const uint8_t key[16] = {
    0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52, 0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f,
};

// First the fixed part, then one device_record for each device.
struct process_record {
    uint32_t driver_version;
    uint32_t version;
    uint32_t process;
    uint32_t thread; // the low half of pthread_self()
    uint64_t runtime_table;
    uint64_t integrity_table;
    uint64_t function;
    uint64_t unix_seconds;
};
_Static_assert(sizeof(struct process_record) == 48, "the layout is part of the check");

struct device_record {
    CUuuid uuid;
    int32_t pci_domain;
    int32_t pci_bus;
    int32_t pci_device;
};
_Static_assert(sizeof(struct device_record) == 28, "the layout is part of the check");

static CUresult describe_device(CUdevice device, struct device_record *record)
{
    CUresult result = cuDeviceGetUuid(&record->uuid, device);
    if (result == CUDA_SUCCESS)
        result =
            cuDeviceGetAttribute(&record->pci_domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, device);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetAttribute(&record->pci_bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
    if (result == CUDA_SUCCESS)
        result =
            cuDeviceGetAttribute(&record->pci_device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, device);
    return result;
}

static CUresult add_devices(struct hmac_md2 *mac)
{
    int count = 0;
    CUresult result = cuDeviceGetCount(&count);
    for (CUdevice device = 0; result == CUDA_SUCCESS && device < count; device++) {
        struct device_record record;
        result = describe_device(device, &record);
        if (result == CUDA_SUCCESS)
            hmac_md2_update(mac, &record, sizeof record);
    }
    return result;
}

CUresult integrity_check(const struct integrity_tables *tables, uint32_t version,
                         uint64_t unix_seconds, uint64_t result[2])
{
    if (!result)
        return CUDA_ERROR_INVALID_VALUE;
    if (version % 10 < 2) {
        result[0] = version % 10 == 0 ? 0x3341181C03CB675C : 0x1841181C03CB675C;
        result[1] = 0x8ED383AA1F4CD1E8;
        return CUDA_SUCCESS;
    }
    int driver_version = 0;
    CUresult status = cuDriverGetVersion(&driver_version);
    if (status != CUDA_SUCCESS)
        return status;
    const struct process_record record = {
        .driver_version = (uint32_t)driver_version,
        .version = version,
        .process = (uint32_t)getpid(),
        .thread = (uint32_t)(uintptr_t)pthread_self(),
        .runtime_table = (uintptr_t)tables->runtime_table,
        .integrity_table = (uintptr_t)tables->integrity_table,
        .function = (uintptr_t)tables->function,
        .unix_seconds = unix_seconds,
    };
    struct hmac_md2 mac;
    hmac_md2_init(&mac, key, sizeof key);
    hmac_md2_update(&mac, &record, sizeof record);
    status = add_devices(&mac);
    if (status != CUDA_SUCCESS)
        return status;
    uint8_t digest[MD2_DIGEST];
    hmac_md2_final(&mac, digest);
    memcpy(result, digest, sizeof digest);
    return CUDA_SUCCESS;
}
