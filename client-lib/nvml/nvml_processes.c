// SPDX-License-Identifier: BSD-3-Clause
// The lease's processes on this host, with their process numbers here.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client-lib/nvml/nvml_library.h"
#include "common/base/descriptor.h"
#include "common/base/scope.h"

enum { SIZE_V1 = 16 }; // bytes of an entry, before it had instances
#define NO_INSTANCE 0xffffffffu
#define NOT_AVAILABLE (~0ull)

// Writes the name as ps shows it: the first word of the command line.
void process_name(unsigned pid, char *out, size_t size)
{
    char path[32];

    *out = '\0';
    snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    SCOPED_FD int fd = descriptor_own(open(path, O_RDONLY | O_CLOEXEC));
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;
    out[n > 0 ? n : 0] = '\0';
}

static void nvml_processes_put_process(const struct control_lease_process *process, void *out,
                                       size_t size)
{
    struct nvml_named_process entry = {
        .process = {.pid = process->pid,
                    .used = process->memory ? process->memory : NOT_AVAILABLE,
                    .gpu_instance = NO_INSTANCE,
                    .compute_instance = NO_INSTANCE}};

    if (size == sizeof(entry))
        process_name(process->pid, entry.name, sizeof(entry.name));
    memcpy(out, &entry, size);
}

int processes_list(void *device, unsigned *count, void *out, size_t size)
{
    struct lease_gpu *gpu;
    int result = count ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    unsigned room = *count, there = gpu->said.processes_count;
    *count = there;
    if (there > room)
        result = NVML_INSUFFICIENT_SIZE;
    else if (there && !out)
        result = NVML_INVALID_ARGUMENT;
    for (unsigned i = 0; !result && i < there; i++)
        nvml_processes_put_process(&gpu->said.processes[i], (char *)out + i * size, size);
    nvml_leave();
    return result;
}

NVML_EXPORT(nvmlDeviceGetComputeRunningProcesses, void *device, unsigned *count, void *out)
{
    return processes_list(device, count, out, SIZE_V1);
}

NVML_EXPORT(nvmlDeviceGetComputeRunningProcesses_v2, void *device, unsigned *count, void *out)
{
    return processes_list(device, count, out, sizeof(struct nvml_process));
}

NVML_EXPORT(nvmlDeviceGetComputeRunningProcesses_v3, void *device, unsigned *count, void *out)
{
    return processes_list(device, count, out, sizeof(struct nvml_process));
}

// Remote GPUs run only CUDA programs, so other lists are empty.
static int nvml_processes_none(void *device, unsigned *count)
{
    struct lease_gpu *gpu;
    int result = count ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    *count = 0;
    nvml_leave();
    return NVML_OK;
}

#define NONE(name) \
    NVML_EXPORT(name, void *device, unsigned *count, void *out) \
    { \
        return nvml_processes_none(device, count); \
    }
NONE(nvmlDeviceGetGraphicsRunningProcesses)
NONE(nvmlDeviceGetGraphicsRunningProcesses_v2)
NONE(nvmlDeviceGetGraphicsRunningProcesses_v3)
NONE(nvmlDeviceGetMPSComputeRunningProcesses)
NONE(nvmlDeviceGetMPSComputeRunningProcesses_v2)
NONE(nvmlDeviceGetMPSComputeRunningProcesses_v3)

// Writes one sample of each process from the box's last reading, unless the caller has that
// already.
static int put_samples(const struct lease_gpu *gpu, struct nvml_process_sample *out,
                       unsigned *count, unsigned long long since)
{
    unsigned room = *count, used = 0, there = gpu->said.processes_count;

    *count = there;
    if (there && (!out || room < there))
        return NVML_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < there; i++) {
        const struct control_lease_process *process = &gpu->said.processes[i];
        if (process->utilization >= 0 && (unsigned long long)gpu->said_us > since)
            out[used++] = (struct nvml_process_sample){.pid = process->pid,
                                                       .time = (unsigned long long)gpu->said_us,
                                                       .sm = (unsigned)process->utilization};
    }
    *count = used;
    return used ? NVML_OK : NVML_NOT_FOUND;
}

NVML_EXPORT(nvmlDeviceGetProcessUtilization, void *device, struct nvml_process_sample *out,
            unsigned *count, unsigned long long since)
{
    struct lease_gpu *gpu;
    int result = count ? nvml_enter_device(device, &gpu) : NVML_INVALID_ARGUMENT;

    if (result)
        return result;
    result = put_samples(gpu, out, count, since);
    nvml_leave();
    return result;
}

NVML_EXPORT(nvmlSystemGetProcessName, unsigned pid, char *name, unsigned size)
{
    char text[4096];
    int result = nvml_enter();

    if (result)
        return result;
    nvml_leave();
    process_name(pid, text, sizeof(text));
    if (!*text)
        return NVML_NOT_FOUND;
    if (!name || !size)
        return NVML_INVALID_ARGUMENT;
    snprintf(name, size, "%s", text);
    return NVML_OK;
}
