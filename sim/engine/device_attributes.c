// SPDX-License-Identifier: BSD-3-Clause
// Describes a simulated device: an sm_90 GPU with few multiprocessors. Features that the simulator
// lacks are reported as absent.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/device_attributes.h"

#include "sim/mps/mps_client.h"

#define A(name) CU_DEVICE_ATTRIBUTE_##name

#define TEXTURE_1D 131072
#define TEXTURE_2D 131072
#define TEXTURE_2D_HEIGHT 65536
#define TEXTURE_3D 16384
#define TEXTURE_LAYERED 32768
#define TEXTURE_LAYERS 2048

// Attributes that are not listed are 0: the feature is absent.
static const int attributes[A(MAX)] = {
    [A(MAX_THREADS_PER_BLOCK)] = 1024,
    [A(MAX_BLOCK_DIM_X)] = 1024,
    [A(MAX_BLOCK_DIM_Y)] = 1024,
    [A(MAX_BLOCK_DIM_Z)] = 64,
    [A(MAX_GRID_DIM_X)] = INT32_MAX,
    [A(MAX_GRID_DIM_Y)] = 65535,
    [A(MAX_GRID_DIM_Z)] = 65535,
    [A(MAX_SHARED_MEMORY_PER_BLOCK)] = DEVICE_SHARED_PER_BLOCK,
    [A(TOTAL_CONSTANT_MEMORY)] = 65536,
    [A(WARP_SIZE)] = DEVICE_WARP_SIZE,
    [A(MAX_PITCH)] = DEVICE_MAX_PITCH,
    [A(MAX_REGISTERS_PER_BLOCK)] = 65536,
    [A(CLOCK_RATE)] = DEVICE_CLOCK_KHZ,
    [A(TEXTURE_ALIGNMENT)] = 512,
    [A(GPU_OVERLAP)] = 1,
    [A(MULTIPROCESSOR_COUNT)] = DEVICE_MULTIPROCESSORS,
    [A(CAN_MAP_HOST_MEMORY)] = 1,
    [A(MANAGED_MEMORY)] = 1,
    [A(CONCURRENT_MANAGED_ACCESS)] = 1,
    [A(COMPUTE_MODE)] = CU_COMPUTEMODE_DEFAULT,
    [A(MAXIMUM_TEXTURE1D_WIDTH)] = TEXTURE_1D,
    [A(MAXIMUM_TEXTURE2D_WIDTH)] = TEXTURE_2D,
    [A(MAXIMUM_TEXTURE2D_HEIGHT)] = TEXTURE_2D_HEIGHT,
    [A(MAXIMUM_TEXTURE3D_WIDTH)] = TEXTURE_3D,
    [A(MAXIMUM_TEXTURE3D_HEIGHT)] = TEXTURE_3D,
    [A(MAXIMUM_TEXTURE3D_DEPTH)] = TEXTURE_3D,
    [A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH)] = TEXTURE_LAYERED,
    [A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT)] = TEXTURE_LAYERED,
    [A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS)] = TEXTURE_LAYERS,
    [A(SURFACE_ALIGNMENT)] = 512,
    [A(CONCURRENT_KERNELS)] = 1,
    [A(ECC_ENABLED)] = 1,
    [A(MEMORY_CLOCK_RATE)] = 2619000,
    [A(GLOBAL_MEMORY_BUS_WIDTH)] = 5120,
    [A(L2_CACHE_SIZE)] = 52428800,
    [A(MAX_THREADS_PER_MULTIPROCESSOR)] = DEVICE_THREADS_PER_SM,
    [A(ASYNC_ENGINE_COUNT)] = 3,
    [A(UNIFIED_ADDRESSING)] = 1,
    [A(MAXIMUM_TEXTURE1D_LAYERED_WIDTH)] = TEXTURE_LAYERED,
    [A(MAXIMUM_TEXTURE1D_LAYERED_LAYERS)] = TEXTURE_LAYERS,
    [A(CAN_TEX2D_GATHER)] = 1,
    [A(MAXIMUM_TEXTURE2D_GATHER_WIDTH)] = TEXTURE_LAYERED,
    [A(MAXIMUM_TEXTURE2D_GATHER_HEIGHT)] = TEXTURE_LAYERED,
    [A(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE)] = 8192,
    [A(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE)] = 8192,
    [A(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE)] = 32768,
    [A(TEXTURE_PITCH_ALIGNMENT)] = 32,
    [A(MAXIMUM_TEXTURECUBEMAP_WIDTH)] = TEXTURE_LAYERED,
    [A(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH)] = TEXTURE_LAYERED,
    [A(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS)] = 2046,
    [A(MAXIMUM_SURFACE1D_WIDTH)] = TEXTURE_LAYERED,
    [A(MAXIMUM_SURFACE2D_WIDTH)] = TEXTURE_2D,
    [A(MAXIMUM_SURFACE2D_HEIGHT)] = TEXTURE_2D_HEIGHT,
    [A(MAXIMUM_SURFACE3D_WIDTH)] = TEXTURE_3D,
    [A(MAXIMUM_SURFACE3D_HEIGHT)] = TEXTURE_3D,
    [A(MAXIMUM_SURFACE3D_DEPTH)] = TEXTURE_3D,
    [A(MAXIMUM_SURFACE1D_LAYERED_WIDTH)] = TEXTURE_LAYERED,
    [A(MAXIMUM_SURFACE1D_LAYERED_LAYERS)] = TEXTURE_LAYERS,
    [A(MAXIMUM_SURFACE2D_LAYERED_WIDTH)] = TEXTURE_LAYERED,
    [A(MAXIMUM_SURFACE2D_LAYERED_HEIGHT)] = TEXTURE_LAYERED,
    [A(MAXIMUM_SURFACE2D_LAYERED_LAYERS)] = TEXTURE_LAYERS,
    [A(MAXIMUM_SURFACECUBEMAP_WIDTH)] = TEXTURE_LAYERED,
    [A(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH)] = TEXTURE_LAYERED,
    [A(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS)] = 2046,
    [A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH)] = 268435456,
    [A(MAXIMUM_TEXTURE2D_LINEAR_WIDTH)] = TEXTURE_2D,
    [A(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT)] = 65000,
    [A(MAXIMUM_TEXTURE2D_LINEAR_PITCH)] = 2097120,
    [A(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH)] = TEXTURE_LAYERED,
    [A(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT)] = TEXTURE_LAYERED,
    [A(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH)] = TEXTURE_LAYERED,
    [A(STREAM_PRIORITIES_SUPPORTED)] = 1,
    [A(GLOBAL_L1_CACHE_SUPPORTED)] = 1,
    [A(LOCAL_L1_CACHE_SUPPORTED)] = 1,
    [A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)] = DEVICE_SHARED_PER_SM,
    [A(MAX_REGISTERS_PER_MULTIPROCESSOR)] = DEVICE_REGISTERS_PER_SM,
    [A(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO)] = 2,
    [A(COMPUTE_PREEMPTION_SUPPORTED)] = 1,
    [A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM)] = 1,
    [A(CAN_USE_STREAM_MEM_OPS_V1)] = 1,
    [A(CAN_USE_64_BIT_STREAM_MEM_OPS_V1)] = 1,
    [A(CAN_USE_STREAM_WAIT_VALUE_NOR_V1)] = 1,
    [A(COOPERATIVE_LAUNCH)] = 1,
    [A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)] = DEVICE_SHARED_PER_BLOCK_OPTIN,
    [A(HOST_REGISTER_SUPPORTED)] = 1,
    [A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)] = 1,
    [A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)] = 1,
    [A(MAX_BLOCKS_PER_MULTIPROCESSOR)] = DEVICE_BLOCKS_PER_SM,
    [A(MAX_PERSISTING_L2_CACHE_SIZE)] = 32768000,
    [A(MAX_ACCESS_POLICY_WINDOW_SIZE)] = 134213632,
    [A(RESERVED_SHARED_MEMORY_PER_BLOCK)] = DEVICE_SHARED_RESERVED,
    [A(READ_ONLY_HOST_REGISTER_SUPPORTED)] = 1,
    [A(MEMORY_POOLS_SUPPORTED)] = 1,
    [A(MEMPOOL_SUPPORTED_HANDLE_TYPES)] = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    [A(GPU_DIRECT_RDMA_WRITES_ORDERING)] = CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES,
    [A(CAN_USE_64_BIT_STREAM_MEM_OPS)] = 1,
    [A(CAN_USE_STREAM_WAIT_VALUE_NOR)] = 1,
    [A(SPARSE_CUDA_ARRAY_SUPPORTED)] = 1,
    [A(MEM_SYNC_DOMAIN_COUNT)] = 4,
    [A(NUMA_ID)] = -1,
    [A(HOST_NUMA_ID)] = 0,
    [A(GPU_PCI_SUBSYSTEM_ID)] = 0x1af4,
};

// Reads the PCI address of a device from RGPU_SIM_PCI, which lists one address per GPU, separated
// by commas.
static bool claimed_place(int ordinal, unsigned *domain, unsigned *bus, unsigned *slot)
{
    const char *at = getenv("RGPU_SIM_PCI");

    for (; at && ordinal; ordinal--) {
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    return at && sscanf(at, "%4x:%2x:%2x.0", domain, bus, slot) == 3;
}

static bool place_attribute(int ordinal, CUdevice_attribute attribute, int *value)
{
    unsigned domain, bus, slot;

    if ((attribute != A(PCI_DOMAIN_ID) && attribute != A(PCI_BUS_ID) &&
         attribute != A(PCI_DEVICE_ID)) ||
        !claimed_place(ordinal, &domain, &bus, &slot))
        return false;
    *value = (int)(attribute == A(PCI_DOMAIN_ID) ? domain
                   : attribute == A(PCI_BUS_ID)  ? bus
                                                 : slot);
    return true;
}

CUresult device_attribute(const struct device *device, CUdevice_attribute attribute, int *value)
{
    if ((int)attribute <= 0 || attribute >= A(MAX))
        return CUDA_ERROR_INVALID_VALUE;
    int parent = device_config()->parents[device->ordinal];
    if (place_attribute(parent < 0 ? device->ordinal : parent, attribute, value))
        return CUDA_SUCCESS;
    if (attribute == A(PCI_BUS_ID))
        *value = 0x40 + (parent < 0 ? device->ordinal : parent);
    else if (attribute == A(MULTIPROCESSOR_COUNT) && parent >= 0)
        *value = attributes[attribute] / device_config()->parts[parent] ?: 1;
    else if (attribute == A(MULTIPROCESSOR_COUNT))
        *value = (int)mps_share_of(DEVICE_MULTIPROCESSORS);
    else if (attribute == A(MPS_ENABLED))
        *value = mps_is_client();
    else if (attribute == A(COMPUTE_CAPABILITY_MAJOR))
        *value = (int)device_config()->capability / 10;
    else if (attribute == A(COMPUTE_CAPABILITY_MINOR))
        *value = (int)device_config()->capability % 10;
    else
        *value = attributes[attribute];
    return CUDA_SUCCESS;
}
