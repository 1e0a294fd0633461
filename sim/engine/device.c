// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "sim/engine/device_attributes.h"
#include "sim/mps/mps_client.h"
#include "sim/engine/shared_state.h"
#include "sim/uuid.h"

static struct {
    struct sim_config config;
    struct device items[SIM_MAX_DEVICES];
} devices;

void device_setup(const struct sim_config *config)
{
    devices.config = *config;
    for (int i = 0; i < config->device_count; i++) {
        struct device *device = &devices.items[i];
        device->index = i;
        device->ordinal = config->ordinals[i];
        device->total_memory = sim_config_memory(config, device->ordinal);
        pthread_mutex_init(&device->lock, NULL);
    }
}

const struct sim_config *device_config(void)
{
    return &devices.config;
}

int device_count(void)
{
    return devices.config.device_count;
}

CUresult device_get(CUdevice index, struct device **out)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(index < 0 || index >= devices.config.device_count, CUDA_ERROR_INVALID_DEVICE);
    *out = &devices.items[index];
    return CUDA_SUCCESS;
}

size_t device_free_memory(const struct device *device)
{
    uint64_t used = shared_state_used(device->ordinal);
    size_t left = used < device->total_memory ? device->total_memory - used : 0;
    size_t limit = mps_memory_limit(device->index), taken = atomic_load(&device->taken);
    size_t own = taken < limit ? limit - taken : 0;
    return own < left ? own : left;
}

// Ends the process if it exceeds the limit, even for a moment. Tests use it to check that a process
// keeps within a quota.
static void end_over_limit(const struct device *device, size_t taken)
{
    size_t limit = device_config()->limit;
    if (!limit || taken <= limit)
        return;
    log_error("the process has more memory of a device than RGPU_SIM_LIMIT, device=%d bytes=%zu",
              device->index, taken);
    abort();
}

CUresult device_charge(struct device *device, size_t bytes)
{
    size_t limit = mps_memory_limit(device->index);
    size_t before = atomic_fetch_add(&device->taken, bytes);
    if (before <= limit && bytes <= limit - before &&
        !shared_state_charge(device->ordinal, bytes, device->total_memory)) {
        end_over_limit(device, before + bytes);
        return CUDA_SUCCESS;
    }
    atomic_fetch_sub(&device->taken, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void device_uncharge(struct device *device, size_t bytes)
{
    atomic_fetch_sub(&device->taken, bytes);
    shared_state_release(device->ordinal, bytes);
}

void device_uncharge_late(struct device *device, size_t bytes)
{
    atomic_fetch_add(&device->late, bytes);
}

void device_settle(struct device *device)
{
    if (atomic_load(&device->late))
        device_uncharge(device, atomic_exchange(&device->late, 0));
}

SIM_API(cuDeviceGet, CUdevice *out, int ordinal)
{
    struct device *device;
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(device_get(ordinal, &device));
    *out = device->index;
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetCount, int *count)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!count, CUDA_ERROR_INVALID_VALUE);
    *count = device_count();
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetName, char *name, int length, CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!name || length <= 0, CUDA_ERROR_INVALID_VALUE);
    sim_config_name(&devices.config, device->ordinal, name, (size_t)length);
    return CUDA_SUCCESS;
}

// After a restore on another GPU, the driver reports that GPU's UUID but keeps the earlier bus
// address.
SIM_API(cuDeviceGetUuid_v2, CUuuid *uuid, CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!uuid, CUDA_ERROR_INVALID_VALUE);
    device_uuid(shared_state_place(device->ordinal), (unsigned char *)uuid->bytes);
    return CUDA_SUCCESS;
}

// LUIDs exist on Windows only; this is the real driver's answer on Linux.
SIM_API(cuDeviceGetLuid, char *luid, unsigned int *mask, CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!luid || !mask, CUDA_ERROR_INVALID_VALUE);
    return CUDA_ERROR_NOT_SUPPORTED;
}

SIM_API(cuDeviceTotalMem_v2, size_t *bytes, CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!bytes, CUDA_ERROR_INVALID_VALUE);
    *bytes = device->total_memory;
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetAttribute, int *value, CUdevice_attribute attribute, CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!value, CUDA_ERROR_INVALID_VALUE);
    return device_attribute(device, attribute, value);
}

SIM_API(cuDeviceGetProperties, CUdevprop *properties, CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!properties, CUDA_ERROR_INVALID_VALUE);
    static const struct {
        CUdevice_attribute attribute;
        size_t offset;
    } fields[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, offsetof(CUdevprop, maxThreadsPerBlock)},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, offsetof(CUdevprop, maxThreadsDim[0])},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, offsetof(CUdevprop, maxThreadsDim[1])},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, offsetof(CUdevprop, maxThreadsDim[2])},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, offsetof(CUdevprop, maxGridSize[0])},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, offsetof(CUdevprop, maxGridSize[1])},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, offsetof(CUdevprop, maxGridSize[2])},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, offsetof(CUdevprop, sharedMemPerBlock)},
        {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, offsetof(CUdevprop, totalConstantMemory)},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, offsetof(CUdevprop, SIMDWidth)},
        {CU_DEVICE_ATTRIBUTE_MAX_PITCH, offsetof(CUdevprop, memPitch)},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, offsetof(CUdevprop, regsPerBlock)},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, offsetof(CUdevprop, clockRate)},
        {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, offsetof(CUdevprop, textureAlign)},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        SIM_TRY(device_attribute(device, fields[i].attribute,
                                 (int *)((char *)properties + fields[i].offset)));
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceComputeCapability, int *major, int *minor, CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!major || !minor, CUDA_ERROR_INVALID_VALUE);
    *major = 9;
    *minor = 0;
    return CUDA_SUCCESS;
}

enum { PCI_TEXT = sizeof "0000:00:00.0" };

SIM_API(cuDeviceGetPCIBusId, char *text, int length, CUdevice index)
{
    struct device *device;
    int domain, bus, slot;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!text || length < PCI_TEXT, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(device_attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, &domain));
    SIM_TRY(device_attribute(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, &bus));
    SIM_TRY(device_attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, &slot));
    snprintf(text, (size_t)length, "%04X:%02X:%02X.0", (unsigned)domain, (unsigned)bus,
             (unsigned)slot);
    return CUDA_SUCCESS;
}

// Accepts domain:bus:device.function, domain:bus:device and bus:device.function, as documented.
static bool parse_pci(const char *text, unsigned *domain, unsigned *bus, unsigned *slot)
{
    int end = 0;
    unsigned function = 0;
    *domain = 0;
    if (sscanf(text, "%x:%x:%x.%x%n", domain, bus, slot, &function, &end) == 4 && !text[end])
        return function == 0;
    if (sscanf(text, "%x:%x:%x%n", domain, bus, slot, &end) == 3 && !text[end])
        return true;
    *domain = 0;
    return sscanf(text, "%x:%x.%x%n", bus, slot, &function, &end) == 3 && !text[end] &&
           function == 0;
}

SIM_API(cuDeviceGetByPCIBusId, CUdevice *out, const char *text)
{
    unsigned domain, bus, slot;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || !text, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!parse_pci(text, &domain, &bus, &slot), CUDA_ERROR_INVALID_DEVICE);
    for (int i = 0; i < device_count(); i++) {
        int d = -1, b = -1, s = -1;
        device_attribute(&devices.items[i], CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, &d);
        device_attribute(&devices.items[i], CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, &b);
        device_attribute(&devices.items[i], CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, &s);
        if ((unsigned)d == domain && (unsigned)b == bus && (unsigned)s == slot) {
            *out = i;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

struct device *device_of_ordinal(int ordinal)
{
    struct device *device;
    for (int i = 0; i < device_count(); i++)
        if (!device_get(i, &device) && device->ordinal == ordinal)
            return device;
    return NULL;
}

SIM_API(cuDeviceCanAccessPeer, int *can, CUdevice index, CUdevice peer)
{
    struct device *a, *b;
    SIM_TRY(device_get(index, &a));
    SIM_TRY(device_get(peer, &b));
    SIM_RETURN_IF(!can, CUDA_ERROR_INVALID_VALUE);
    *can = a != b;
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetP2PAttribute, int *value, CUdevice_P2PAttribute attribute, CUdevice source,
        CUdevice destination)
{
    struct device *a, *b;
    SIM_TRY(device_get(source, &a));
    SIM_TRY(device_get(destination, &b));
    SIM_RETURN_IF(!value, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(a == b, CUDA_ERROR_INVALID_DEVICE);
    switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: *value = 1; return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
        *value = 0;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuDeviceGetExecAffinitySupport, int *supported, CUexecAffinityType type, CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!supported, CUDA_ERROR_INVALID_VALUE);
    *supported = 0;
    return CUDA_SUCCESS;
}
