// SPDX-License-Identifier: BSD-3-Clause
// Initialization and end of the library, its handles, and the properties of GPUs that need no
// recorded answer of the box's NVML.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client-lib/nvml/nvml_library.h"
#include "common/base/log.h"

// ---- beginning and end ----

static void before_fork(void)
{
    nvml_lock();
}

// Holds the lock during a fork, so that the child finds it free. The handlers are registered before
// any call: a fork that has begun does not run handlers registered after that.
__attribute__((constructor)) static void watch_for_forks(void)
{
    pthread_atfork(before_fork, nvml_leave, nvml_leave);
}

static void nvml_calls_set_up(void)
{
    log_init("rgpu", LOG_LEVEL_WARN);
    log_level_from_environment();
}

NVML_EXPORT(nvmlInitWithFlags, unsigned flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int result = NVML_OK;

    pthread_once(&once, nvml_calls_set_up);
    nvml_lock();
    if (!nvml_state.users)
        result = boxes_find();
    nvml_state.users += result == NVML_OK;
    nvml_leave();
    return result;
}

NVML_EXPORT(nvmlInit_v2, void)
{
    return nvmlInitWithFlags(0);
}

NVML_EXPORT(nvmlInit, void)
{
    return nvmlInitWithFlags(0);
}

NVML_EXPORT(nvmlShutdown, void)
{
    int result = nvml_enter();

    if (result)
        return result;
    nvml_state.users--;
    nvml_leave();
    return NVML_OK;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result)
{
    switch (result) {
    case NVML_OK: return "Success";
    case NVML_UNINITIALIZED: return "Uninitialized";
    case NVML_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_NOT_SUPPORTED: return "Not Supported";
    case NVML_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_NOT_FOUND: return "Not Found";
    case NVML_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_TIMEOUT: return "Timeout";
    case NVML_FUNCTION_NOT_FOUND: return "Function Not Found";
    case NVML_GPU_IS_LOST: return "GPU is lost";
    case NVML_MEMORY: return "Insufficient memory";
    case NVML_VERSION_MISMATCH: return "Argument version mismatch";
    default: return "Unknown Error";
    }
}

// ---- the list of GPUs ----

NVML_EXPORT(nvmlDeviceGetCount_v2, unsigned *count)
{
    int result = count ? nvml_enter() : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    *count = nvml_state.count;
    nvml_leave();
    return NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetCount, unsigned *count)
{
    return nvmlDeviceGetCount_v2(count);
}

// Finds the first GPU for which IS_IT returns true.
static int find_handle(bool (*is_it)(const struct lease_gpu *gpu, const void *name),
                       const void *name, void **device)
{
    int result = device && name ? nvml_enter() : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    result = NVML_NOT_FOUND;
    for (unsigned i = nvml_state.count; i-- > 0;)
        if (is_it(&nvml_state.gpus[i], name)) {
            *device = nvml_handle(i);
            result = NVML_OK;
        }
    nvml_leave();
    return result;
}

static bool has_index(const struct lease_gpu *gpu, const void *name)
{
    return nvml_index(gpu) == *(const unsigned *)name;
}

NVML_EXPORT(nvmlDeviceGetHandleByIndex_v2, unsigned index, void **device)
{
    int result = find_handle(has_index, &index, device);

    return result == NVML_NOT_FOUND ? NVML_INVALID_ARGUMENT : result;
}

NVML_EXPORT(nvmlDeviceGetHandleByIndex, unsigned index, void **device)
{
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

static bool has_uuid(const struct lease_gpu *gpu, const void *name)
{
    return !strcasecmp(gpu->uuid, name);
}

NVML_EXPORT(nvmlDeviceGetHandleByUUID, const char *uuid, void **device)
{
    return find_handle(has_uuid, uuid, device);
}

// Returns the GPU's PCI location as CUDA reports it. False: the box has not reported it.
static bool nvml_calls_place_of(const struct lease_gpu *gpu, struct pci_place *out)
{
    if (!pci_place_read(gpu->said.pci, out))
        return false;
    out->domain = pci_domain_seen(out->domain, gpu->box);
    return true;
}

static bool has_pci(const struct lease_gpu *gpu, const void *name)
{
    struct pci_place ours, theirs;

    return nvml_calls_place_of(gpu, &ours) && pci_place_read(name, &theirs) &&
           !memcmp(&ours, &theirs, sizeof(ours));
}

NVML_EXPORT(nvmlDeviceGetHandleByPciBusId_v2, const char *bus_id, void **device)
{
    return find_handle(has_pci, bus_id, device);
}

NVML_EXPORT(nvmlDeviceGetHandleByPciBusId, const char *bus_id, void **device)
{
    return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

// ---- properties of a GPU ----

NVML_EXPORT(nvmlDeviceGetIndex, void *device, unsigned *index)
{
    struct lease_gpu *gpu;
    int result = index ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    *index = nvml_index(gpu);
    nvml_leave();
    return NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetUUID, void *device, char *text, unsigned size)
{
    struct lease_gpu *gpu;
    int result = nvml_enter_device(device, &gpu);

    if (result)
        return result;
    result = nvml_put_text(gpu->uuid, text, size);
    nvml_leave();
    return result;
}

NVML_EXPORT(nvmlDeviceGetName, void *device, char *text, unsigned size)
{
    struct lease_gpu *gpu;
    int result = nvml_enter_device(device, &gpu);

    if (result)
        return result;
    result = nvml_put_text(gpu->said.name, text, size);
    nvml_leave();
    return result;
}

NVML_EXPORT(nvmlDeviceGetCudaComputeCapability, void *device, int *major, int *minor)
{
    struct lease_gpu *gpu;
    int result = major && minor ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    *major = (int)gpu->said.capability / 10;
    *minor = (int)gpu->said.capability % 10;
    nvml_leave();
    return NVML_OK;
}

// The box's NVML reports the device's ids; its location is the one that CUDA reports.
void nvml_put_pci(const struct lease_gpu *gpu, struct nvml_pci *out)
{
    struct pci_place place;

    *out = (struct nvml_pci){0};
    recorded_answer(gpu, 73, 0, out, sizeof(*out));
    if (nvml_calls_place_of(gpu, &place))
        nvml_put_place(&place, out);
}

void nvml_put_place(const struct pci_place *place, struct nvml_pci *out)
{
    out->domain = place->domain;
    out->bus = place->bus;
    out->device = place->device;
    pci_place_write(place, out->bus_id_legacy, sizeof(out->bus_id_legacy));
    snprintf(out->bus_id, sizeof(out->bus_id), "%08X:%02X:%02X.0", place->domain, place->bus & 0xff,
             place->device & 0xff);
}

NVML_EXPORT(nvmlDeviceGetPciInfo_v3, void *device, struct nvml_pci *out)
{
    struct lease_gpu *gpu;
    int result = out ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    nvml_put_pci(gpu, out);
    nvml_leave();
    return NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetPciInfo_v2, void *device, struct nvml_pci *out)
{
    return nvmlDeviceGetPciInfo_v3(device, out);
}

NVML_EXPORT(nvmlDeviceGetPciInfoExt, void *device, struct nvml_pci_ext *out)
{
    struct lease_gpu *gpu;
    struct nvml_pci pci;
    int result = out ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    if (out->version != NVML_STRUCTURE(1, sizeof(*out))) {
        nvml_leave();
        return NVML_VERSION_MISMATCH;
    }
    nvml_put_pci(gpu, &pci);
    recorded_answer(gpu, 191, 0, out, sizeof(*out));
    out->domain = pci.domain;
    out->bus = pci.bus;
    out->device = pci.device;
    memcpy(out->bus_id, pci.bus_id, sizeof(out->bus_id));
    nvml_leave();
    return NVML_OK;
}

NVML_EXPORT(nvmlSystemGetCudaDriverVersion_v2, int *version)
{
    int result = version ? nvml_enter() : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    uint32_t known = nvml_state.count ? nvml_state.gpus[0].said.cuda_version : 0;
    if (known)
        *version = (int)known;
    nvml_leave();
    return known ? NVML_OK : NVML_NOT_SUPPORTED;
}

NVML_EXPORT(nvmlSystemGetCudaDriverVersion, int *version)
{
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

// ---- memory and utilisation ----

static unsigned long long free_bytes(const struct lease_gpu *gpu)
{
    return gpu->said.used < gpu->said.memory ? gpu->said.memory - gpu->said.used : 0;
}

NVML_EXPORT(nvmlDeviceGetMemoryInfo, void *device, struct nvml_memory *out)
{
    struct lease_gpu *gpu;
    int result = out ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    *out = (struct nvml_memory){.total = gpu->said.memory,
                                .free = free_bytes(gpu),
                                .used = gpu->said.used};
    nvml_leave();
    return NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetMemoryInfo_v2, void *device, struct nvml_memory_v2 *out)
{
    struct nvml_memory_v2 whole = {0};
    struct lease_gpu *gpu;
    int result = out ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    if (out->version == NVML_STRUCTURE(2, sizeof(*out))) {
        // Memory that the driver reserves does not belong to a share.
        if (!gpu->said.budget)
            recorded_answer(gpu, 192, 0, &whole, sizeof(whole));
        if (whole.reserved > gpu->said.used)
            whole.reserved = gpu->said.used;
        *out = (struct nvml_memory_v2){.version = out->version,
                                       .total = gpu->said.memory,
                                       .reserved = whole.reserved,
                                       .free = free_bytes(gpu),
                                       .used = gpu->said.used - whole.reserved};
    } else {
        result = NVML_VERSION_MISMATCH;
    }
    nvml_leave();
    return result;
}

NVML_EXPORT(nvmlDeviceGetUtilizationRates, void *device, struct nvml_utilization *out)
{
    struct nvml_utilization whole = {0};
    struct lease_gpu *gpu;
    int result = out ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    if (gpu->said.utilization < 0) {
        result = NVML_NOT_SUPPORTED;
    } else {
        if (!gpu->said.budget)
            recorded_answer(gpu, 72, 0, &whole, sizeof(whole));
        *out = (struct nvml_utilization){(unsigned)gpu->said.utilization, whole.memory};
    }
    nvml_leave();
    return result;
}

NVML_EXPORT(nvmlDeviceGetTemperatureV, void *device, struct nvml_temperature *out)
{
    struct lease_gpu *gpu;
    int result = out ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    result = out->version != NVML_STRUCTURE(1, sizeof(*out)) || out->sensor > 0xff
                 ? NVML_VERSION_MISMATCH
                 : recorded_answer(gpu, 120, out->sensor, &out->celsius, sizeof(out->celsius));
    nvml_leave();
    return result;
}

NVML_EXPORT(nvmlDeviceGetFieldValues, void *device, int count, struct nvml_field *values)
{
    struct lease_gpu *gpu;
    int result = values && count > 0 ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    for (int i = 0; i < count; i++) {
        struct nvml_field *value = &values[i], answer = {0};
        value->result = value->field < 0x8000 && value->scope < 0x100
                            ? recorded_answer(gpu, NVML_FIELD_NUMBERS + value->field, value->scope,
                                              &answer, sizeof(answer))
                            : NVML_NOT_SUPPORTED;
        if (!value->result)
            *value = answer;
    }
    nvml_leave();
    return NVML_OK;
}
