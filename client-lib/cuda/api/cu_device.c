// SPDX-License-Identifier: BSD-3-Clause
// Device queries, answered from the data that the boxes sent when the session opened.
#include <string.h>
#include <strings.h>

#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/session/process.h"
#include "client-lib/cuda/session/box_session.h"
#include "client_calls.h"

// Finds the device, or returns from the calling function with the error.
#define FIND_DEVICE(device, number) \
    CUresult ready_ = process_ready(); \
    if (ready_ != CUDA_SUCCESS) \
        return ready_; \
    const struct wire_device *device = session_device(number); \
    if (!(device)) \
    return CUDA_ERROR_INVALID_DEVICE

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    FIND_DEVICE(found, ordinal);
    if (ordinal >= session_device_count)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!dev || !pciBusId)
        return CUDA_ERROR_INVALID_VALUE;
    // The domain may be left out or have another number of digits.
    for (CUdevice i = 0; i < session_device_count; i++) {
        const char *ours = session_device(i)->pci_bus_id;
        size_t a = strlen(ours), b = strlen(pciBusId);
        size_t n = b < a ? b : a;
        if (n >= 7 && strcasecmp(ours + a - n, pciBusId + b - n) == 0) {
            *dev = i;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

// Returns true if the attribute is reported as unsupported, although the box may support it: rgpu
// does not forward these kinds of memory and handles, so programs must not rely on them.
static bool attribute_denied(CUdevice_attribute attribute, const struct box_session *session)
{
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
    case CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK:
    case CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: return true;
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY: // by a GPU in the same host, or by mirrors
        return !session->memory->maps_page_locked && !session->mirrors_on_demand;
    default: return false;
    }
}

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    FIND_DEVICE(device, dev);
    if (!pi || (int)attrib <= 0 || (uint32_t)attrib >= device->attribute_count ||
        (uint32_t)attrib >= WIRE_ATTRIBUTE_LIMIT)
        return CUDA_ERROR_INVALID_VALUE;
    if (device->attribute_results[attrib] == CUDA_SUCCESS)
        *pi = attribute_denied(attrib, session_of_device(dev)) ? 0 : device->attributes[attrib];
    if (attrib == CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES)
        *pi &= CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;   // tokens stand in for these handles
    if (attrib == CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED) // the workers provide this
        *pi = device->attributes[CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS];
    return (CUresult)device->attribute_results[attrib];
}

// Returns the row of two devices of one box; NULL if they belong to two boxes, or are one device.
static const struct wire_peer *peer_row(CUdevice a, CUdevice b)
{
    struct box_session *session = session_of_device(a);
    if (a == b || !session || session != session_of_device(b))
        return NULL;
    return &session->peers[(uint32_t)box_device_number(a) * session->device_count +
                           (uint32_t)box_device_number(b)];
}

CUresult cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    FIND_DEVICE(device, dev);
    if (!session_device(peerDev))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!canAccessPeer)
        return CUDA_ERROR_INVALID_VALUE;
    const struct wire_peer *row = peer_row(dev, peerDev);
    *canAccessPeer = row && row->can_access;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                 CUdevice dstDevice)
{
    FIND_DEVICE(device, srcDevice);
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    if (!session_device(dstDevice) || srcDevice == dstDevice)
        return CUDA_ERROR_INVALID_DEVICE;
    if ((int)attrib < 0 || attrib >= 8)
        return CUDA_ERROR_INVALID_VALUE;
    const struct wire_peer *row = peer_row(srcDevice, dstDevice);
    *value = row ? row->attributes[attrib] : 0;
    return row ? (CUresult)row->results[attrib] : CUDA_SUCCESS;
}

// ---- atomic operations across the link to the host and to other GPUs ----

CUresult device_ask_atomics(unsigned int *capabilities, const CUatomicOperation *operations,
                            unsigned int count, CUdevice dev, CUdevice peer, bool of_peer)
{
    size_t used = 0;
    if (!capabilities)
        return CUDA_ERROR_INVALID_VALUE;
    // GPUs of different boxes reach each other by copies only.
    if (of_peer && session_of_device(dev) != session_of_device(peer)) {
        memset(capabilities, 0, count * sizeof(*capabilities));
        return CUDA_SUCCESS;
    }
    return remote_device_atomics(dev, peer, of_peer, count, operations, capabilities,
                                 count * sizeof(*capabilities), &used);
}
