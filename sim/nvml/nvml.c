// SPDX-License-Identifier: BSD-3-Clause
// The part of NVML that the GPU monitor (rgpu-monitor) uses. It reports memory per device and
// process from the accounts of shared_state.h, and the busy time since the previous query. A
// software GPU has neither temperature nor power.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/gpu_faults.h"
#include "proto/nvml_abi.h"
#include "sim/sim_config.h"
#include "sim/engine/shared_state.h"
#include "sim/uuid.h"
#include "version.h"

#define NVML_API(name, ...) \
    __attribute__((visibility("default"))) int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

enum {
    OK = 0,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    TOO_SMALL = 7,
    UNKNOWN = 999
};
enum { LISTED_MAX = 1024 };

static struct sim_config config;
static int indices[SIM_MAX_DEVICES]; // a device handle points to the ordinal of a GPU or instance

NVML_API(nvmlInit_v2, void)
{
    for (int i = 0; i < SIM_MAX_DEVICES; i++)
        indices[i] = i;
    return sim_config_load(&config) ? UNKNOWN : OK;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result)
{
    return result == NOT_SUPPORTED ? "not supported"
                                   : "the software GPUs' settings are not understood";
}

NVML_API(nvmlDeviceGetCount_v2, unsigned *count)
{
    *count = (unsigned)config.gpu_count;
    return OK;
}

NVML_API(nvmlDeviceGetHandleByIndex_v2, unsigned index, void **device)
{
    if (index >= (unsigned)config.gpu_count)
        return INVALID_ARGUMENT;
    *device = &indices[index];
    return OK;
}

static int is_instance(const void *device)
{
    return config.parents[*(const int *)device] >= 0;
}

NVML_API(nvmlDeviceGetUUID, void *device, char *text, unsigned size)
{
    char uuid[40];

    sim_uuid_text(*(int *)device, uuid);
    return (unsigned)snprintf(text, size, "%s-%s", is_instance(device) ? "MIG" : "GPU", uuid) < size
               ? OK
               : TOO_SMALL;
}

NVML_API(nvmlDeviceGetName, void *device, char *text, unsigned size)
{
    sim_config_name(&config, *(int *)device, text, size);
    return OK;
}

NVML_API(nvmlDeviceGetPciInfo_v3, void *device, struct nvml_pci *out)
{
    if (is_instance(device))
        return NOT_SUPPORTED;
    *out = (struct nvml_pci){.bus = 0x40 + (unsigned)*(int *)device};
    snprintf(out->bus_id_legacy, sizeof(out->bus_id_legacy), "0000:%02X:00.0", out->bus & 0xff);
    snprintf(out->bus_id, sizeof(out->bus_id), "00000000:%02X:00.0", out->bus & 0xff);
    return OK;
}

NVML_API(nvmlDeviceGetCudaComputeCapability, void *device, int *major, int *minor)
{
    (void)device;
    *major = (int)config.capability / 10;
    *minor = (int)config.capability % 10;
    return OK;
}

// ---- instances ----

NVML_API(nvmlDeviceIsMigDeviceHandle, void *device, unsigned *yes)
{
    *yes = is_instance(device);
    return OK;
}

NVML_API(nvmlDeviceGetMigMode, void *device, unsigned *now, unsigned *later)
{
    if (is_instance(device))
        return NOT_SUPPORTED;
    *now = *later = config.parts[*(int *)device] > 0;
    return OK;
}

NVML_API(nvmlDeviceGetMaxMigDeviceCount, void *device, unsigned *count)
{
    if (is_instance(device))
        return NOT_SUPPORTED;
    *count = SIM_MAX_DEVICES;
    return OK;
}

NVML_API(nvmlDeviceGetMigDeviceHandleByIndex, void *device, unsigned index, void **out)
{
    int end = config.gpu_count + config.instance_count;

    for (int i = config.gpu_count; i < end; i++)
        if (config.parents[i] == *(int *)device && !index--) {
            *out = &indices[i];
            return OK;
        }
    return NOT_FOUND;
}

static size_t nvml_look(void *device, struct shared_use *list)
{
    size_t count = shared_state_look(config.state_path, *(int *)device, list, LISTED_MAX);

    return count < LISTED_MAX ? count : LISTED_MAX;
}

NVML_API(nvmlDeviceGetMemoryInfo, void *device, struct nvml_memory *memory)
{
    static struct shared_use list[LISTED_MAX];
    size_t count = nvml_look(device, list);

    *memory = (struct nvml_memory){.total = sim_config_memory(&config, *(int *)device)};
    for (size_t i = 0; i < count; i++)
        memory->used += list[i].bytes;
    memory->free = memory->total - memory->used;
    return OK;
}

// Returns true to hide processes, as in a container where the driver's process ids are useless.
static int hides_processes(void)
{
    const char *text = getenv("RGPU_SIM_HIDE_PROCESSES");

    return text && !strcmp(text, "1");
}

NVML_API(nvmlDeviceGetComputeRunningProcesses_v3, void *device, unsigned *count,
         struct nvml_process *out)
{
    static struct shared_use list[LISTED_MAX];
    size_t found = nvml_look(device, list);
    unsigned room = *count;

    if (hides_processes())
        return NOT_SUPPORTED;
    *count = (unsigned)found;
    if (found > room)
        return TOO_SMALL;
    for (size_t i = 0; i < found; i++)
        out[i] = (struct nvml_process){.pid = list[i].pid, .used = list[i].bytes};
    return OK;
}

// ---- utilization ----

// Busy times at the previous query, kept separately for each kind of query.
struct busy_meter {
    uint64_t at;
    size_t count;
    struct shared_use seen[LISTED_MAX];
};

enum meter_kind { METER_DEVICE, METER_PROCESSES, METER_KINDS };
static struct busy_meter meters[METER_KINDS][SIM_MAX_DEVICES];

static uint64_t busy_before(const struct busy_meter *meter, uint32_t pid)
{
    for (size_t i = 0; i < meter->count; i++)
        if (meter->seen[i].pid == pid)
            return meter->seen[i].busy;
    return 0;
}

static unsigned percent(uint64_t busy, uint64_t elapsed)
{
    uint64_t value = elapsed ? (busy * 100 + elapsed / 2) / elapsed : 0;

    return value < 100 ? (unsigned)value : 100;
}

// Replaces `busy` in the list by the busy time since the previous query. Returns the elapsed time,
// or 0 at the first query.
static uint64_t nvml_measure(enum meter_kind kind, void *device, struct shared_use *list,
                             size_t *count)
{
    static struct shared_use now[LISTED_MAX];
    struct busy_meter *meter = &meters[kind][*(int *)device];
    uint64_t at = shared_state_now(), elapsed = meter->at ? at - meter->at : 0;

    *count = nvml_look(device, now);
    for (size_t i = 0; i < *count; i++) {
        uint64_t before = busy_before(meter, now[i].pid);
        list[i] = now[i];
        list[i].busy = now[i].busy > before ? now[i].busy - before : 0;
    }
    memcpy(meter->seen, now, *count * sizeof(now[0]));
    meter->count = *count;
    meter->at = at;
    return elapsed;
}

NVML_API(nvmlDeviceGetUtilizationRates, void *device, struct nvml_utilization *out)
{
    static struct shared_use list[LISTED_MAX];
    size_t count;

    if (is_instance(device))
        return NOT_SUPPORTED; // as the real library does for its instances
    uint64_t busy = 0, elapsed = nvml_measure(METER_DEVICE, device, list, &count);

    for (size_t i = 0; i < count; i++)
        busy += list[i].busy;
    *out = (struct nvml_utilization){.gpu = percent(busy, elapsed)};
    return OK;
}

// As if each GPU always took 100 W.
NVML_API(nvmlDeviceGetTotalEnergyConsumption, void *device, unsigned long long *millijoules)
{
    if (is_instance(device))
        return NOT_SUPPORTED;
    *millijoules = shared_state_now() / 1000000 * 100;
    return OK;
}

NVML_API(nvmlDeviceGetProcessUtilization, void *device, struct nvml_process_sample *out,
         unsigned *count, unsigned long long since)
{
    static struct shared_use list[LISTED_MAX];
    size_t found;
    unsigned room = *count;

    if (hides_processes() || is_instance(device))
        return NOT_SUPPORTED;
    *count = LISTED_MAX;
    if (!out || room < LISTED_MAX)
        return TOO_SMALL;
    uint64_t elapsed = nvml_measure(METER_PROCESSES, device, list, &found);
    for (size_t i = 0; i < found; i++)
        out[i] = (struct nvml_process_sample){.pid = list[i].pid,
                                              .time = since + 1,
                                              .sm = percent(list[i].busy, elapsed)};
    *count = (unsigned)found;
    return OK;
}

// Reports all memory as mapped.
NVML_API(nvmlDeviceGetBAR1MemoryInfo, void *device, unsigned long long out[3])
{
    struct nvml_memory memory;
    int result = nvmlDeviceGetMemoryInfo(device, &memory);

    out[0] = memory.total;
    out[1] = memory.free;
    out[2] = memory.used;
    return result;
}

// ---- links: two between neighbours in a ring ----

enum { LINKS = 18, LINKS_OF_PAIR = 2, CAPABILITY_P2P = 0 };

// Returns the device at the other end of a link, or -1 if there is no link.
static int behind_link(const void *device, unsigned link)
{
    int self = *(const int *)device, count = config.gpu_count;

    return link < LINKS_OF_PAIR && count > 1 && !is_instance(device) ? (self + 1) % count : -1;
}

NVML_API(nvmlDeviceGetNvLinkState, void *device, unsigned link, unsigned *active)
{
    if (link >= LINKS)
        return INVALID_ARGUMENT;
    *active = behind_link(device, link) >= 0;
    return OK;
}

NVML_API(nvmlDeviceGetNvLinkCapability, void *device, unsigned link, unsigned capability,
         unsigned *can)
{
    if (link >= LINKS)
        return INVALID_ARGUMENT;
    *can = capability == CAPABILITY_P2P && behind_link(device, link) >= 0;
    return OK;
}

NVML_API(nvmlDeviceGetNvLinkRemotePciInfo_v2, void *device, unsigned link, struct nvml_pci *out)
{
    int other = behind_link(device, link);

    if (other < 0)
        return NOT_SUPPORTED;
    return nvmlDeviceGetPciInfo_v3(&indices[other], out);
}

// Neighbours with numbers 2n and 2n+1 share one bridge; other pairs are on different processors.
enum { LEVEL_SELF = 0, LEVEL_BRIDGE = 10, LEVEL_SYSTEM = 50, PEERS_OK = 0, PEER_QUESTIONS = 6 };

NVML_API(nvmlDeviceGetTopologyCommonAncestor, void *device, void *other, unsigned *level)
{
    int a = *(const int *)device, b = *(const int *)other;

    if (is_instance(device) || is_instance(other))
        return NOT_SUPPORTED;
    *level = a == b ? LEVEL_SELF : a / 2 == b / 2 ? LEVEL_BRIDGE : LEVEL_SYSTEM;
    return OK;
}

NVML_API(nvmlDeviceGetP2PStatus, void *device, void *other, unsigned what, unsigned *status)
{
    if (is_instance(device) || is_instance(other) || what >= PEER_QUESTIONS || device == other)
        return INVALID_ARGUMENT;
    *status = PEERS_OK;
    return OK;
}

// ---- faults: lines of the file RGPU_SIM_FAULTS, to which tests append ----
//
//     GPU xid NUMBER           an Xid event
//     GPU counter FIELD VALUE  the value of a field from now on

struct fault_line {
    unsigned gpu, number;
    unsigned long long value;
    char kind[16];
};

// Reads the next complete line from the offset *AT. Returns false if there is none.
static int next_fault(long *at, struct fault_line *line)
{
    const char *path = getenv("RGPU_SIM_FAULTS");
    FILE *file = path ? fopen(path, "re") : NULL;
    char text[128];
    int found = 0;

    if (!file)
        return 0;
    if (!fseek(file, *at, SEEK_SET) && fgets(text, sizeof(text), file) && strchr(text, '\n')) {
        *at = ftell(file);
        *line = (struct fault_line){.gpu = SIM_MAX_DEVICES};
        sscanf(text, "%u %15s %u %llu", &line->gpu, line->kind, &line->number, &line->value);
        found = 1;
    }
    fclose(file);
    return found;
}

NVML_API(nvmlEventSetCreate, void **set)
{
    static long at; // offset of the next line

    *set = &at;
    return OK;
}

NVML_API(nvmlDeviceRegisterEvents, void *device, unsigned long long types, void *set)
{
    (void)types, (void)set;
    return is_instance(device) ? NOT_SUPPORTED : OK;
}

NVML_API(nvmlEventSetWait_v2, void *set, struct nvml_event *event, unsigned milliseconds)
{
    struct fault_line line;

    (void)milliseconds;
    while (next_fault(set, &line))
        if (!strcmp(line.kind, "xid") && line.gpu < (unsigned)config.gpu_count) {
            *event = (struct nvml_event){.device = &indices[line.gpu],
                                         .type = NVML_EVENT_XID,
                                         .data = line.number,
                                         .gpu_instance = ~0u,
                                         .compute_instance = ~0u};
            return OK;
        }
    return NVML_TIMEOUT;
}

// Returns the last value of a counter in the file, or PRESET.
static unsigned long long sim_counter(const void *device, unsigned field, unsigned long long preset)
{
    struct fault_line line;
    long at = 0;

    while (next_fault(&at, &line))
        if (!strcmp(line.kind, "counter") && line.gpu == (unsigned)*(const int *)device &&
            line.number == field)
            preset = line.value;
    return preset;
}

static int has_counter(unsigned field)
{
#define IS_FIELD(number, name, judged, class, text) || (field == number && number < COUNTER_CLOCKS)
    return 0 GPU_COUNTERS(IS_FIELD);
}

NVML_API(nvmlDeviceGetFieldValues, void *device, int count, struct nvml_field *fields)
{
    for (int i = 0; i < count; i++) {
        fields[i].result = has_counter(fields[i].field) ? OK : NOT_SUPPORTED;
        fields[i].value = sim_counter(device, fields[i].field, 0);
    }
    return OK;
}

NVML_API(nvmlDeviceGetCurrentClocksThrottleReasons, void *device, unsigned long long *reasons)
{
    *reasons = sim_counter(device, COUNTER_CLOCKS, 0);
    return OK;
}

NVML_API(nvmlDeviceGetCurrPcieLinkWidth, void *device, unsigned *lanes)
{
    *lanes = (unsigned)sim_counter(device, COUNTER_LINK_WIDTH, 16);
    return OK;
}

// ---- versions ----

static int put_version(char *text, unsigned size)
{
    return (unsigned)snprintf(text, size, "%s", RGPU_VERSION) < size ? OK : TOO_SMALL;
}

NVML_API(nvmlSystemGetDriverVersion, char *text, unsigned size)
{
    return put_version(text, size);
}

NVML_API(nvmlSystemGetNVMLVersion, char *text, unsigned size)
{
    return put_version(text, size);
}
