// SPDX-License-Identifier: BSD-3-Clause
// A management library with one GPU, whose only answer is how often it has been asked.
#include <stdio.h>
#include <string.h>

#include "proto/nvml_abi.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvmlInit_v2(void);
EXPORT const char *nvmlErrorString(int result);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned size);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *memory);
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size);

static int gpu;

int nvmlInit_v2(void)
{
    return 0;
}

const char *nvmlErrorString(int result)
{
    return result ? "wrong" : "right";
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 1;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &gpu;
    return (int)index;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned size)
{
    (void)device;
    snprintf(text, size, "GPU-1");
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *memory)
{
    (void)device;
    memset(memory, 0, sizeof(*memory));
    return 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    static unsigned asked;

    snprintf(text, size, "%u", ++asked);
    return 0;
}
