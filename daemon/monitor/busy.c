// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/monitor/busy.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "proto/nvml_abi.h"

enum {
    LEAST_MS = 100,    // least time between two readings; figures of shorter times mean little
    SAMPLES_MS = 1000, // time in which the library takes a new sample of an active process
};

static struct {
    // NULL: missing in the library
    int (*utilization)(void *device, struct nvml_utilization *utilization);
    int (*samples)(void *device, struct nvml_process_sample *list, unsigned *count,
                   unsigned long long since);
} library;

static struct reading {
    long long read_ms, sampled_ms; // 0: never
    bool reported, processes_reported;
    struct nvml_utilization rates;
    unsigned long long newest; // time of the newest sample
    unsigned count;
    struct nvml_process_sample list[BUSY_PROCESSES_MAX];
} readings[BUSY_GPUS_MAX];

void busy_find(void *handle)
{
    void *utilization = dlsym(handle, "nvmlDeviceGetUtilizationRates");
    void *samples = dlsym(handle, "nvmlDeviceGetProcessUtilization");

    memcpy(&library.utilization, &utilization, sizeof(utilization));
    memcpy(&library.samples, &samples, sizeof(samples));
}

// Reads new samples of processes. If the library has none yet, the last ones remain valid, since
// the processes may still be active.
static void busy_take_samples(struct reading *reading, void *device, long long now)
{
    static struct nvml_process_sample list[BUSY_PROCESSES_MAX];
    unsigned count = BUSY_PROCESSES_MAX;
    int result = library.samples ? library.samples(device, list, &count, reading->newest) : -1;

    reading->processes_reported = result == NVML_OK || result == NVML_NOT_FOUND;
    if (result == NVML_OK && count) {
        memcpy(reading->list, list, count * sizeof(list[0]));
        reading->count = count;
        reading->sampled_ms = now;
    } else if (!reading->processes_reported || now - reading->sampled_ms >= SAMPLES_MS) {
        reading->count = 0;
    }
    for (unsigned i = 0; i < reading->count; i++)
        if (reading->list[i].time > reading->newest)
            reading->newest = reading->list[i].time;
}

void busy_read(unsigned gpu, void *device)
{
    struct reading *reading = &readings[gpu];
    long long now = clock_ms();

    if (reading->read_ms && now - reading->read_ms < LEAST_MS)
        return;
    reading->read_ms = now;
    reading->reported = library.utilization &&
                        library.utilization(device, &reading->rates) == NVML_OK;
    busy_take_samples(reading, device, now);
}

void busy_print_gpu(unsigned gpu)
{
    const struct reading *reading = &readings[gpu];

    if (reading->reported)
        printf(" %u %u", reading->rates.gpu, reading->rates.memory);
    else
        printf(" - -");
}

// Prints the mean of the samples. A process without samples was idle.
void busy_print_process(unsigned gpu, unsigned pid)
{
    const struct reading *reading = &readings[gpu];
    unsigned long long sum = 0;
    unsigned count = 0;

    for (unsigned i = 0; i < reading->count; i++)
        if (reading->list[i].pid == pid) {
            sum += reading->list[i].sm;
            count++;
        }
    if (reading->processes_reported)
        printf(" %llu", count ? (sum + count / 2) / count : 0);
    else
        printf(" -");
}

static bool is_first_of_process(const struct reading *reading, unsigned place)
{
    for (unsigned i = 0; i < place; i++)
        if (reading->list[i].pid == reading->list[place].pid)
            return false;
    return true;
}

void busy_print_processes(unsigned gpu)
{
    const struct reading *reading = &readings[gpu];

    if (!reading->processes_reported)
        printf("hidden\n");
    for (unsigned i = 0; i < reading->count; i++)
        if (is_first_of_process(reading, i)) {
            printf("process %u 0", reading->list[i].pid);
            busy_print_process(gpu, reading->list[i].pid);
            printf("\n");
        }
}
