// SPDX-License-Identifier: BSD-3-Clause
// The processors and memory of this host that are near a GPU: a remote GPU has the same distance to
// all of them.
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client-lib/nvml/nvml_library.h"

enum { WORD = sizeof(unsigned long) * CHAR_BIT };

static int all_of(void *device, unsigned words, unsigned long *set, long count)
{
    struct lease_gpu *gpu;
    int result = set && words ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    nvml_leave();
    memset(set, 0, words * sizeof(*set));
    for (long i = 0; i < count && i < (long)words * WORD; i++)
        set[i / WORD] |= 1UL << i % WORD;
    return NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetCpuAffinity, void *device, unsigned words, unsigned long *set)
{
    return all_of(device, words, set, sysconf(_SC_NPROCESSORS_CONF));
}

// The scope, a node or a socket of the host, makes no difference.
NVML_EXPORT(nvmlDeviceGetCpuAffinityWithinScope, void *device, unsigned words, unsigned long *set,
            unsigned scope)
{
    return scope < 2 ? nvmlDeviceGetCpuAffinity(device, words, set) : NVML_INVALID_ARGUMENT;
}

static long memory_nodes(void)
{
    char path[64];
    long count = 0;

    do
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%ld", count);
    while (!access(path, F_OK) && ++count);
    return count ? count : 1;
}

NVML_EXPORT(nvmlDeviceGetMemoryAffinity, void *device, unsigned words, unsigned long *set,
            unsigned scope)
{
    return scope < 2 ? all_of(device, words, set, memory_nodes()) : NVML_INVALID_ARGUMENT;
}
