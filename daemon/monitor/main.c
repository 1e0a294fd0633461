// SPDX-License-Identifier: BSD-3-Clause
// rgpu-monitor, the GPU monitor: reports the memory use, processes, utilization, temperature and
// power of each GPU to rgpud at intervals, as the GPU's management library (NVML) knows them. It is
// a separate process, since the library may hang together with its GPU. rgpud must not wait, and
// loads nothing of a driver. Lines on standard output:
//
//     gpu UUID NUMBER USED TOTAL    a GPU, its number in the library, bytes
//     partitioned              the GPU above is divided; its instances follow, each as a GPU
//     instance PARENT GPU-INSTANCE COMPUTE-INSTANCE CAPABILITY PCI NAME
//                              the GPU above is an instance of PARENT
//     figures UTILIZATION MEMORY TEMPERATURE POWER
//                              of the GPU above: percent of the time in which kernels ran, and in
//                              which its memory was used, degrees Celsius, milliwatts; -: not known
//     energy MILLIJOULES       what the GPU above has used since its driver was loaded
//     process PID BYTES UTILIZATION
//                              a process that uses the GPU above
//     answer HEX               the library's answer to a question about the GPU above or, before
//                              the first GPU, about the machine (proto/nvml_questions.h)
//     counter PLACE VALUE      a counter of the GPU above (proto/gpu_faults.h)
//     xid UUID NUMBER          an Xid error of a GPU since the last round
//     hidden                   the library does not report processes of the GPU above
//     round                    end of a round
//     none REASON              there will be no figures
//
// The library needs some time for answers, so they are read often only while clients want them.
// rgpud writes a byte to standard input for each client that does. At other times they are read
// at long intervals. A byte MONITOR_GLANCE requests the current utilization, which is fast:
//
//     busy UUID UTILIZATION MEMORY
//                              a GPU; its energy and active processes follow, or "hidden"
//     glance                   end of the glance
#include <dlfcn.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/spawn.h"
#include "daemon/monitor/busy.h"
#include "daemon/monitor/faults.h"
#include "daemon/monitor/questions.h"
#include "proto/nvml_abi.h"
#include "proto/nvml_questions.h"

enum {
    OK = 0,
    PROCESSES_MAX = BUSY_PROCESSES_MAX,
    GPUS_MAX = BUSY_GPUS_MAX,
    TEMPERATURE_OF_GPU = 0
};

static struct {
    int (*init)(void);
    const char *(*error)(int result);
    int (*count)(unsigned *count);
    int (*device)(unsigned index, void **device);
    int (*uuid)(void *device, char *text, unsigned size);
    int (*memory)(void *device, struct nvml_memory *memory);
    // NULL: missing in the library
    int (*processes)(void *device, unsigned *count, struct nvml_process *list);
    int (*mig_mode)(void *device, unsigned *now, unsigned *later);
    int (*mig_count)(void *device, unsigned *count);
    int (*mig_device)(void *device, unsigned index, void **instance);
    int (*gpu_instance)(void *device, unsigned *number);
    int (*compute_instance)(void *device, unsigned *number);
    int (*capability)(void *device, int *major, int *minor);
    int (*name)(void *device, char *text, unsigned size);
    int (*pci)(void *device, struct nvml_pci *pci);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*power)(void *device, unsigned *milliwatts);
    int (*energy)(void *device, unsigned long long *millijoules);
} library;

static int monitor_none(const char *reason)
{
    printf("none %s\n", reason);
    fflush(stdout);
    return 1;
}

static bool monitor_find(void *handle, const char *name, void *function)
{
    void *address = dlsym(handle, name);

    memcpy(function, &address, sizeof(address));
    return address != NULL;
}

// Returns NULL, or the reason of a failure.
static const char *monitor_load(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW);

    if (!handle)
        return dlerror();
    if (!monitor_find(handle, "nvmlInit_v2", &library.init) ||
        !monitor_find(handle, "nvmlErrorString", &library.error) ||
        !monitor_find(handle, "nvmlDeviceGetCount_v2", &library.count) ||
        !monitor_find(handle, "nvmlDeviceGetHandleByIndex_v2", &library.device) ||
        !monitor_find(handle, "nvmlDeviceGetUUID", &library.uuid) ||
        !monitor_find(handle, "nvmlDeviceGetMemoryInfo", &library.memory))
        return "the management library lacks a function that is needed";
    if (!monitor_find(handle, "nvmlDeviceGetComputeRunningProcesses_v3", &library.processes))
        monitor_find(handle, "nvmlDeviceGetComputeRunningProcesses_v2", &library.processes);
    monitor_find(handle, "nvmlDeviceGetTemperature", &library.temperature);
    monitor_find(handle, "nvmlDeviceGetPowerUsage", &library.power);
    monitor_find(handle, "nvmlDeviceGetTotalEnergyConsumption", &library.energy);
    busy_find(handle);
    faults_find(handle);
    monitor_find(handle, "nvmlDeviceGetMigMode", &library.mig_mode);
    monitor_find(handle, "nvmlDeviceGetMaxMigDeviceCount", &library.mig_count);
    monitor_find(handle, "nvmlDeviceGetMigDeviceHandleByIndex", &library.mig_device);
    monitor_find(handle, "nvmlDeviceGetGpuInstanceId", &library.gpu_instance);
    monitor_find(handle, "nvmlDeviceGetComputeInstanceId", &library.compute_instance);
    monitor_find(handle, "nvmlDeviceGetCudaComputeCapability", &library.capability);
    monitor_find(handle, "nvmlDeviceGetName", &library.name);
    monitor_find(handle, "nvmlDeviceGetPciInfo_v3", &library.pci);
    questions_find(handle);
    int result = library.init();
    return result ? library.error(result) : NULL;
}

// ---- a GPU and its processes ----

static void print_figure(bool reported, unsigned value)
{
    if (reported)
        printf(" %d", (int)value);
    else
        printf(" -");
}

static void tell_figures(unsigned gpu, void *device)
{
    unsigned celsius = 0, milliwatts = 0;
    bool warm = library.temperature &&
                library.temperature(device, TEMPERATURE_OF_GPU, &celsius) == OK;
    bool hungry = library.power && library.power(device, &milliwatts) == OK;

    printf("figures");
    busy_print_gpu(gpu);
    print_figure(warm, celsius);
    print_figure(hungry, milliwatts);
    printf("\n");
}

static void tell_energy(void *device)
{
    unsigned long long millijoules;

    if (library.energy && library.energy(device, &millijoules) == OK)
        printf("energy %llu\n", millijoules);
}

static void tell_processes(unsigned gpu, void *device)
{
    static struct nvml_process list[PROCESSES_MAX];
    unsigned count = PROCESSES_MAX;
    bool hidden = !library.processes || library.processes(device, &count, list) != OK;

    for (unsigned i = 0; !hidden && i < count; i++)
        hidden = list[i].used == ~0ull;
    if (hidden)
        printf("hidden\n");
    for (unsigned i = 0; !hidden && i < count; i++) {
        printf("process %u %llu", list[i].pid, list[i].used);
        busy_print_process(gpu, list[i].pid);
        printf("\n");
    }
}

// ---- questions of clients ----

enum {
    QUESTIONS_SHARE = 10, // questions take at most a tenth of the time, however slow the library is
    WANTED_MS = 30000,    // a client that has asked may ask again
    UNWANTED_MS = 60000,  // time between two readings while no client asks
};

static struct {
    struct questions_text system, gpus[GPUS_MAX];
    long long due_ms, wanted_until_ms, asked_ms;
    bool asked;
} known;

// A GPU, or an instance of a divided GPU, which the library treats as a separate device.
struct monitored {
    void *device, *parent; // parent NULL: a GPU
    unsigned number;       // of the GPU, in the library
    bool partitioned;
};

static unsigned others_of(const struct monitored *units, unsigned count,
                          struct questions_other *others)
{
    unsigned gpus = 0;

    for (unsigned i = 0; i < count; i++)
        if (!units[i].parent)
            others[gpus++] = (struct questions_other){units[i].device, units[i].number};
    return gpus;
}

static void ask_questions(const struct monitored *units, unsigned count)
{
    struct questions_other others[GPUS_MAX];
    unsigned other_count = others_of(units, count, others);
    long long begin = clock_ms();
    bool wanted = !known.asked || begin < known.wanted_until_ms ||
                  begin >= known.asked_ms + UNWANTED_MS;

    if (!wanted || begin < known.due_ms)
        return;
    known.asked = true;
    known.asked_ms = begin;
    questions_ask_system(&known.system);
    for (unsigned i = 0; i < count; i++)
        questions_ask_device(&known.gpus[i], units[i].device, others, other_count);
    known.due_ms = clock_ms() + (clock_ms() - begin) * (QUESTIONS_SHARE - 1);
}

static void tell_known(const struct questions_text *text)
{
    if (text->words)
        fputs(text->words, stdout);
}

// ---- GPUs and instances ----

static bool is_partitioned(void *device)
{
    unsigned now = 0, later = 0;

    return library.mig_mode && library.mig_device && library.mig_mode(device, &now, &later) == OK &&
           now;
}

static unsigned add_instances(struct monitored *units, unsigned count, const struct monitored *gpu)
{
    unsigned most = 0;

    if (!library.mig_count || library.mig_count(gpu->device, &most) != OK)
        return count;
    for (unsigned i = 0; i < most && count < GPUS_MAX; i++) {
        struct monitored *unit = &units[count];
        *unit = (struct monitored){.parent = gpu->device, .number = gpu->number};
        if (library.mig_device(gpu->device, i, &unit->device) == OK)
            count++;
    }
    return count;
}

static unsigned find_units(struct monitored *units)
{
    unsigned gpus = 0, count = 0;

    if (library.count(&gpus) != OK)
        return 0;
    for (unsigned i = 0; i < gpus && count < GPUS_MAX; i++) {
        struct monitored *unit = &units[count];
        *unit = (struct monitored){.number = i};
        if (library.device(i, &unit->device) != OK)
            continue;
        unit->partitioned = is_partitioned(unit->device);
        count++;
        if (unit->partitioned)
            count = add_instances(units, count, unit);
    }
    return count;
}

static void tell_instance(const struct monitored *unit)
{
    char parent[96] = "", name[128] = "MIG";
    unsigned gpu_instance = 0, compute_instance = 0;
    struct nvml_pci pci = {.bus_id_legacy = "-"};
    int major = 0, minor = 0;

    library.uuid(unit->parent, parent, sizeof(parent));
    if (library.gpu_instance)
        library.gpu_instance(unit->device, &gpu_instance);
    if (library.compute_instance)
        library.compute_instance(unit->device, &compute_instance);
    if (library.capability)
        library.capability(unit->parent, &major, &minor);
    if (library.pci)
        library.pci(unit->parent, &pci);
    if (library.name)
        library.name(unit->device, name, sizeof(name));
    printf("instance %s %u %u %d %.15s %s\n", parent, gpu_instance, compute_instance,
           10 * major + minor, pci.bus_id_legacy, name);
}

// Prints one round. GPUs whose figures fail are left out.
static void tell_round(bool with_questions)
{
    struct monitored units[GPUS_MAX];
    unsigned count = find_units(units);

    if (with_questions)
        ask_questions(units, count);
    tell_known(&known.system);
    for (unsigned i = 0; i < count; i++) {
        struct nvml_memory memory;
        char uuid[96];
        void *device = units[i].device;
        if (library.uuid(device, uuid, sizeof(uuid)) != OK || library.memory(device, &memory) != OK)
            continue;
        printf("gpu %s %u %llu %llu\n", uuid, units[i].number, memory.used, memory.total);
        if (units[i].partitioned)
            printf("partitioned\n");
        if (units[i].parent)
            tell_instance(&units[i]);
        else
            faults_watch(device, uuid);
        busy_read(i, device);
        tell_figures(i, device);
        tell_energy(device);
        tell_processes(i, device);
        faults_print_counters(device);
        tell_known(&known.gpus[i]);
    }
    faults_print_events();
    printf("round\n");
}

static void monitor_glance(void)
{
    struct monitored units[GPUS_MAX];
    unsigned count = find_units(units);

    for (unsigned i = 0; i < count; i++) {
        char uuid[96];
        if (library.uuid(units[i].device, uuid, sizeof(uuid)) != OK)
            continue;
        busy_read(i, units[i].device);
        printf("busy %s", uuid);
        busy_print_gpu(i);
        printf("\n");
        tell_energy(units[i].device);
        busy_print_processes(i);
    }
    printf("glance\n");
}

// Handles requests of clients. Returns false if a client wants answers that are out of date.
static bool monitor_hear(const char *bytes, ssize_t count)
{
    bool fresh = clock_ms() < known.wanted_until_ms, wanted = false, glances = false;

    for (ssize_t i = 0; i < count; i++) {
        glances = glances || bytes[i] == MONITOR_GLANCE;
        wanted = wanted || bytes[i] != MONITOR_GLANCE;
    }
    if (glances) {
        monitor_glance();
        fflush(stdout);
    }
    if (wanted)
        known.wanted_until_ms = clock_ms() + WANTED_MS;
    return fresh || !wanted;
}

// Waits until the next round is due, or until a client wants answers that are out of date.
static void monitor_pause_for(long long interval)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    long long until = clock_ms() + interval;
    char bytes[64];
    ssize_t count;

    for (long long left = interval; left > 0; left = until - clock_ms()) {
        if (poll(&input, 1, (int)left) <= 0 ||
            (count = read(STDIN_FILENO, bytes, sizeof(bytes))) <= 0) {
            if (input.revents) // input is closed: no more requests
                input.fd = -1;
            continue;
        }
        if (!monitor_hear(bytes, count))
            return;
    }
}

int main(int argc, char **argv)
{
    long long interval = argc == 3 ? atoll(argv[2]) : 0; // milliseconds
    pid_t parent = getppid();

    if (interval <= 0 || interval > INT_MAX) {
        fprintf(stderr, "usage: rgpu-monitor LIBRARY MILLISECONDS\n"
                        "Tells what the GPUs' memory is used for; started by rgpud.\n");
        return 2;
    }
    if (spawn_end_with(parent))
        return 1;
    const char *problem = monitor_load(argv[1]);
    if (problem)
        return monitor_none(problem);
    // The box starts after the first round, so that round leaves the slow questions out.
    tell_round(false);
    for (;;) {
        if (fflush(stdout))
            return 1;
        tell_round(true);
        if (fflush(stdout))
            return 1;
        monitor_pause_for(interval);
    }
}
