// SPDX-License-Identifier: BSD-3-Clause
// The distances between the lease's GPUs. For two GPUs of one box its NVML knows them; for two
// boxes see recorded_between_boxes().
#include <stddef.h>
#include <string.h>

#include "client-lib/nvml/nvml_library.h"

enum { QUESTION_BEHIND_LINK = 132 };

// ---- the far end of a link ----

NVML_EXPORT(nvmlDeviceGetNvLinkRemotePciInfo_v2, void *device, unsigned link, struct nvml_pci *out)
{
    struct lease_gpu *gpu;
    struct nvml_pci place = {0};
    int result = out ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    result = link < 0x100 ? recorded_answer(gpu, QUESTION_BEHIND_LINK, link, &place, sizeof(place))
                          : NVML_INVALID_ARGUMENT;
    if (!result) {
        const struct pci_place seen = {pci_domain_seen(place.domain, gpu->box), place.bus,
                                       place.device};
        nvml_put_place(&seen, &place);
        *out = place;
    }
    nvml_leave();
    return result;
}

// NCCL identifies links by this call. It fills in the location alone, because the rest of the
// structure differs in this version.
NVML_EXPORT(nvmlDeviceGetNvLinkRemotePciInfo, void *device, unsigned link, void *out)
{
    struct nvml_pci pci;
    int result = out ? nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &pci)
                     : NVML_INVALID_ARGUMENT;

    if (!result)
        memcpy(out, &pci, offsetof(struct nvml_pci, bus_id));
    return result;
}

// ---- distances of GPUs ----

static int level_of(const struct lease_gpu *gpu, const struct lease_gpu *other, unsigned *level)
{
    return gpu->box == other->box
               ? recorded_answer(gpu, QUESTION_ANCESTOR, other->said.number & 0xff, level,
                                 sizeof(*level))
               : recorded_between_boxes(QUESTION_ANCESTOR, level);
}

// Adds one more GPU that was found. Without a list, it only counts.
static void nvml_topology_add(unsigned index, unsigned room, void **list, unsigned *found)
{
    if (list && *found < room)
        list[*found] = nvml_handle(index);
    ++*found;
}

static int counted(unsigned *count, unsigned room, void **list, unsigned found)
{
    *count = found;
    return list && found > room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetTopologyNearestGpus, void *device, unsigned level, unsigned *count,
            void **list)
{
    struct lease_gpu *gpu;
    unsigned found = 0, at, room;
    int result = count ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    room = *count;
    for (unsigned i = 0; i < nvml_state.count; i++)
        if (&nvml_state.gpus[i] != gpu && !level_of(gpu, &nvml_state.gpus[i], &at) && at == level)
            nvml_topology_add(i, room, room ? list : NULL, &found);
    result = counted(count, room, room ? list : NULL, found);
    nvml_leave();
    return result;
}

// All GPUs have the same distance to every processor of this host.
NVML_EXPORT(nvmlSystemGetTopologyGpuSet, unsigned processor, unsigned *count, void **list)
{
    unsigned found = 0, room;
    int result = count ? nvml_enter() : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    room = *count;
    for (unsigned i = 0; i < nvml_state.count; i++)
        nvml_topology_add(i, room, room ? list : NULL, &found);
    result = counted(count, room, room ? list : NULL, found);
    nvml_leave();
    return result;
}
