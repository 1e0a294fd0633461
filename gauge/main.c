// SPDX-License-Identifier: BSD-3-Clause
// rgpu-gauge: tells rgpud every few seconds how much memory of each GPU is taken, and by which processes,
// as the GPU's management library (NVML) knows it. It is a process of its own, since that library may hang
// together with its GPU, and rgpud waits for nobody and loads nothing of a driver. On standard output:
//
//     gpu UUID USED TOTAL      a GPU, bytes
//     process PID BYTES        one that uses the GPU above
//     hidden                   the library does not tell who uses it
//     round                    that was all for now
//     none REASON              there will be nothing
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "proto/nvml_abi.h"

enum { OK = 0, PROCESSES_MAX = 4096 };

static struct {
    int (*init)(void);
    const char *(*error)(int result);
    int (*count)(unsigned *count);
    int (*device)(unsigned index, void **device);
    int (*uuid)(void *device, char *text, unsigned size);
    int (*memory)(void *device, struct nvml_memory *memory);
    int (*processes)(void *device, unsigned *count,
                     struct nvml_process *list); // NULL: older than that
} library;

static int none(const char *reason)
{
    printf("none %s\n", reason);
    fflush(stdout);
    return 1;
}

static bool find(void *handle, const char *name, void *function)
{
    void *address = dlsym(handle, name);

    memcpy(function, &address, sizeof(address));
    return address != NULL;
}

// NULL, or what is wrong.
static const char *load(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW);

    if (!handle)
        return dlerror();
    if (!find(handle, "nvmlInit_v2", &library.init) ||
        !find(handle, "nvmlErrorString", &library.error) ||
        !find(handle, "nvmlDeviceGetCount_v2", &library.count) ||
        !find(handle, "nvmlDeviceGetHandleByIndex_v2", &library.device) ||
        !find(handle, "nvmlDeviceGetUUID", &library.uuid) ||
        !find(handle, "nvmlDeviceGetMemoryInfo", &library.memory))
        return "the management library lacks a function that is needed";
    if (!find(handle, "nvmlDeviceGetComputeRunningProcesses_v3", &library.processes))
        find(handle, "nvmlDeviceGetComputeRunningProcesses_v2", &library.processes);
    int result = library.init();
    return result ? library.error(result) : NULL;
}

static void tell_processes(void *device)
{
    static struct nvml_process list[PROCESSES_MAX];
    unsigned count = PROCESSES_MAX;
    bool hidden = !library.processes || library.processes(device, &count, list) != OK;

    for (unsigned i = 0; !hidden && i < count; i++)
        hidden = list[i].used == ~0ull;
    if (hidden)
        printf("hidden\n");
    for (unsigned i = 0; !hidden && i < count; i++)
        printf("process %u %llu\n", list[i].pid, list[i].used);
}

// A GPU that fails is left out, and the others are told.
static void tell_round(void)
{
    unsigned count = 0;

    if (library.count(&count) != OK)
        count = 0;
    for (unsigned i = 0; i < count; i++) {
        struct nvml_memory memory;
        char uuid[96];
        void *device;
        if (library.device(i, &device) != OK || library.uuid(device, uuid, sizeof(uuid)) != OK ||
            library.memory(device, &memory) != OK)
            continue;
        printf("gpu %s %llu %llu\n", uuid, memory.used, memory.total);
        tell_processes(device);
    }
    printf("round\n");
}

int main(int argc, char **argv)
{
    long long interval = argc == 3 ? atoll(argv[2]) : 0; // milliseconds
    struct timespec pause = {.tv_sec = interval / 1000, .tv_nsec = interval % 1000 * 1000000};
    pid_t parent = getppid();

    if (interval <= 0) {
        fprintf(stderr, "usage: rgpu-gauge LIBRARY MILLISECONDS\n"
                        "Tells what the GPUs' memory is used for; started by rgpud.\n");
        return 2;
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
        return 1;
    const char *problem = load(argv[1]);
    if (problem)
        return none(problem);
    for (;;) {
        tell_round();
        if (fflush(stdout))
            return 1;
        while (nanosleep(&pause, NULL) && errno == EINTR)
            ;
    }
}
