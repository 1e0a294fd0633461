// SPDX-License-Identifier: BSD-3-Clause
// A client gets the description when its session begins and never has to query these values. The
// driver is queried before a client connects; a grant selects rows.
#include "daemon/worker/core/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "common/net/control.h"
#include "common/base/pci_place.h"
#include "proto/wire.h"
#include "daemon/worker/core/gpus.h"
#include "calls_version.h"
#include "cuda_ops.h"
#include "worker_driver.h"

static struct wire_device *rows;
static struct wire_peer *peers; // gpus.count squared

static void describe_attributes(CUdevice device, struct wire_device *row)
{
    row->attribute_count = WIRE_ATTRIBUTE_LIMIT;
    for (int i = 0; i < WIRE_ATTRIBUTE_LIMIT; i++)
        row->attribute_results[i] =
            i == 0 ? CUDA_ERROR_INVALID_VALUE
                   : (int32_t)driver.cuDeviceGetAttribute(&row->attributes[i],
                                                          (CUdevice_attribute)i, device);
}

static void describe_luid(CUdevice device, struct wire_device *row)
{
    char luid[8] = {0};
    unsigned mask = 0;

    row->luid_result = driver.cuDeviceGetLuid ? (int32_t)driver.cuDeviceGetLuid(luid, &mask, device)
                                              : CUDA_ERROR_NOT_SUPPORTED;
    memcpy(row->luid, luid, sizeof(row->luid));
    row->luid_mask = mask;
}

static void describe_priorities(struct wire_device *row, int ordinal)
{
    int least = 0, greatest = 0;

    // Asking needs a current context; devices of one box have the same range.
    if (driver.cuCtxGetStreamPriorityRange)
        driver.cuCtxGetStreamPriorityRange(&least, &greatest);
    row->stream_priority_least = least;
    row->stream_priority_greatest = greatest;
}

static void snapshot_describe(int ordinal, struct wire_device *row)
{
    CUdevice device = gpus.list[ordinal].handle;
    CUuuid uuid = {{0}};
    size_t total = 0;

    if (driver.cuDeviceGetName)
        driver.cuDeviceGetName(row->name, (int)sizeof(row->name), device);
    if (driver.cuDeviceGetUuid_v2)
        driver.cuDeviceGetUuid_v2(&uuid, device);
    memcpy(row->uuid, uuid.bytes, sizeof(row->uuid));
    if (driver.cuDeviceGetPCIBusId)
        driver.cuDeviceGetPCIBusId(row->pci_bus_id, (int)sizeof(row->pci_bus_id), device);
    if (driver.cuDeviceTotalMem_v2)
        driver.cuDeviceTotalMem_v2(&total, device);
    row->total_memory = total;
    if (driver.cuDeviceGetProperties)
        driver.cuDeviceGetProperties(&row->properties, device);
    describe_luid(device, row);
    describe_priorities(row, ordinal);
    describe_attributes(device, row);
    for (int type = 0; type < 4; type++) {
        int supported = 0;
        if (driver.cuDeviceGetExecAffinitySupport && type < CU_EXEC_AFFINITY_TYPE_MAX)
            driver.cuDeviceGetExecAffinitySupport(&supported, (CUexecAffinityType)type, device);
        row->affinity_supported[type] = supported;
    }
}

static void describe_peer(int from, int to, struct wire_peer *peer)
{
    CUdevice a = gpus.list[from].handle, b = gpus.list[to].handle;

    if (driver.cuDeviceCanAccessPeer && from != to)
        driver.cuDeviceCanAccessPeer(&peer->can_access, a, b);
    for (int i = 0; i < 8; i++)
        peer->results[i] = driver.cuDeviceGetP2PAttribute && from != to
                               ? (int32_t)driver.cuDeviceGetP2PAttribute(&peer->attributes[i],
                                                                         (CUdevice_P2PAttribute)i,
                                                                         a, b)
                               : CUDA_ERROR_INVALID_DEVICE;
}

void snapshot_prepare(void)
{
    size_t count = (size_t)gpus.count;

    rows = calloc(count ? count : 1, sizeof(*rows));
    peers = calloc(count ? count * count : 1, sizeof(*peers));
    for (int i = 0; rows && peers && i < gpus.count; i++) {
        if (!gpus.list[i].present)
            continue;
        snapshot_describe(i, &rows[i]);
        for (int j = 0; j < gpus.count; j++)
            if (gpus.list[j].present)
                describe_peer(i, j, &peers[(size_t)i * count + (size_t)j]);
    }
}

// Appends the requests that this worker executes after the rows.
static void describe_calls(uint8_t *at)
{
    struct wire_section head = {.kind = SECTION_CALLS, .size = sizeof(cuda_requests)};

    memcpy(at, &head, sizeof(head));
    memcpy(at + sizeof(head), cuda_requests, sizeof(cuda_requests));
}

// A program that begins after its lease was moved sees the GPU of its ticket, as those do that
// began before.
static void name_as_known(const struct gpu_identity *known_as, struct wire_device *row)
{
    static const struct gpu_identity own;
    struct pci_place place;

    if (!memcmp(known_as->uuid, own.uuid, sizeof(own.uuid)) ||
        !memcmp(known_as->uuid, row->uuid, sizeof(row->uuid)) ||
        !pci_place_read(known_as->pci, &place))
        return;
    memcpy(row->uuid, known_as->uuid, sizeof(row->uuid));
    pci_place_write(&place, row->pci_bus_id, sizeof(row->pci_bus_id));
    row->attributes[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID] = (int32_t)place.domain;
    row->attributes[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID] = (int32_t)place.bus;
    row->attributes[CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID] = (int32_t)place.device;
}

static void describe_paths(uint8_t *at, const struct control_grant *grant)
{
    struct wire_section head = {.kind = SECTION_PATHS, .size = sizeof(struct wire_paths)};
    struct wire_paths paths = {.forced = grant->forced_paths};

    memcpy(at, &head, sizeof(head));
    memcpy(at + sizeof(head), &paths, sizeof(paths));
}

static size_t section_bytes(size_t size)
{
    return sizeof(struct wire_section) + ((size + 7) & ~(size_t)7);
}

void *snapshot_make(const int *ordinals, unsigned count, const struct control_grant *grant,
                    size_t *size)
{
    bool with_sections = grant->client_calls != 0;
    size_t row_bytes = sizeof(struct wire_snapshot) + count * sizeof(struct wire_device) +
                       (size_t)count * count * sizeof(struct wire_peer);
    size_t bytes = row_bytes;
    if (with_sections)
        bytes += section_bytes(sizeof(cuda_requests)) + section_bytes(sizeof(struct wire_paths));
    struct wire_snapshot *snapshot = rows && peers ? calloc(1, bytes) : NULL;

    if (!snapshot)
        return NULL;
    *snapshot = (struct wire_snapshot){.version = CALLS_VERSION,
                                       .devices = count,
                                       .driver_version = gpus.driver_version};
    struct wire_device *device = (struct wire_device *)(snapshot + 1);
    struct wire_peer *peer = (struct wire_peer *)(device + count);
    for (unsigned i = 0; i < count; i++) {
        uint64_t budget = gpus.list[ordinals[i]].budget;
        device[i] = rows[ordinals[i]];
        name_as_known(&gpus.list[ordinals[i]].known_as, &device[i]);
        if (budget && budget < device[i].total_memory)
            device[i].total_memory = budget;
        if (budget)
            snapshot->budgeted = 1;
        for (unsigned j = 0; j < count; j++)
            peer[i * count + j] = peers[ordinals[i] * gpus.count + ordinals[j]];
    }
    if (with_sections) {
        uint8_t *sections = (uint8_t *)snapshot + row_bytes;
        describe_calls(sections);
        describe_paths(sections + section_bytes(sizeof(cuda_requests)), grant);
    }
    *size = bytes;
    return snapshot;
}
