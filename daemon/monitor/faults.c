// SPDX-License-Identifier: BSD-3-Clause
// The library keeps events until they are read, so that reading them once in each round loses none.
// ECC errors are read as counters, which also have those of the time before.
#include "daemon/monitor/faults.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "daemon/monitor/busy.h"
#include "proto/gpu_faults.h"
#include "proto/nvml_abi.h"

enum { EVENTS_MAX = 256 }; // in one round; the others are read in the next one

static struct {
    // NULL: missing in the library
    int (*set_create)(void **set);
    int (*register_events)(void *device, unsigned long long types, void *set);
    int (*set_wait)(void *set, struct nvml_event *event, unsigned milliseconds);
    int (*field_values)(void *device, int count, struct nvml_field *fields);
    int (*clocks)(void *device, unsigned long long *reasons);
    int (*link_width)(void *device, unsigned *lanes);
} library;

static void *set; // NULL: no events
static struct {
    void *device;
    char uuid[96];
} watched[BUSY_GPUS_MAX];
static unsigned watched_count;

#define FIELD_NUMBER(field, name, judged, class, text) field,
static const unsigned fields[] = {GPU_COUNTERS(FIELD_NUMBER)};

void faults_find(void *handle)
{
    void *create = dlsym(handle, "nvmlEventSetCreate");
    void *subscribe = dlsym(handle, "nvmlDeviceRegisterEvents");
    void *wait = dlsym(handle, "nvmlEventSetWait_v2");
    void *values = dlsym(handle, "nvmlDeviceGetFieldValues");
    void *clocks = dlsym(handle, "nvmlDeviceGetCurrentClocksThrottleReasons");
    void *link_width = dlsym(handle, "nvmlDeviceGetCurrPcieLinkWidth");

    memcpy(&library.set_create, &create, sizeof(create));
    memcpy(&library.register_events, &subscribe, sizeof(subscribe));
    memcpy(&library.set_wait, &wait, sizeof(wait));
    memcpy(&library.field_values, &values, sizeof(values));
    memcpy(&library.clocks, &clocks, sizeof(clocks));
    memcpy(&library.link_width, &link_width, sizeof(link_width));
}

void faults_watch(void *device, const char *uuid)
{
    for (unsigned i = 0; i < watched_count; i++)
        if (watched[i].device == device)
            return;
    if (!library.set_create || !library.register_events || !library.set_wait ||
        watched_count == BUSY_GPUS_MAX)
        return;
    if (!set && library.set_create(&set) != NVML_OK)
        return;
    if (library.register_events(device, NVML_EVENT_XID, set) != NVML_OK)
        fprintf(stderr, "rgpu-monitor: Xid errors of %s are not reported\n", uuid);
    watched[watched_count].device = device;
    snprintf(watched[watched_count++].uuid, sizeof(watched[0].uuid), "%s", uuid);
}

static const char *faults_uuid_of(const void *device)
{
    for (unsigned i = 0; i < watched_count; i++)
        if (watched[i].device == device)
            return watched[i].uuid;
    return NULL;
}

void faults_print_events(void)
{
    struct nvml_event event;

    for (unsigned i = 0; set && i < EVENTS_MAX && library.set_wait(set, &event, 0) == NVML_OK;
         i++) {
        const char *uuid = faults_uuid_of(event.device);
        if (uuid && event.type == NVML_EVENT_XID)
            printf("xid %s %llu\n", uuid, event.data);
    }
}

// Reads a counter. Returns false if the GPU or the library does not have it.
static bool read_counter(void *device, unsigned number, unsigned long long *value)
{
    struct nvml_field field = {.field = number};
    unsigned lanes = 0;

    *value = 0;
    switch (number) {
    case COUNTER_CLOCKS: return library.clocks && library.clocks(device, value) == NVML_OK;
    case COUNTER_LINK_WIDTH:
        if (!library.link_width || library.link_width(device, &lanes) != NVML_OK)
            return false;
        *value = lanes;
        return true;
    }
    if (!library.field_values || library.field_values(device, 1, &field) != NVML_OK ||
        field.result != NVML_OK)
        return false;
    *value = field.value; // of 4 or 8 bytes; the other bytes were zero
    return true;
}

void faults_print_counters(void *device)
{
    unsigned long long value;

    for (unsigned i = 0; i < GPU_COUNTERS_MAX; i++)
        if (read_counter(device, fields[i], &value))
            printf("counter %u %llu\n", i, value);
}
