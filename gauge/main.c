// SPDX-License-Identifier: BSD-3-Clause
// rgpu-gauge: tells rgpud every few seconds how much memory of each GPU is taken, and by which processes, how busy,
// warm and hungry it is, as the GPU's management library (NVML) knows it. It is a process of its own, since that library may hang
// together with its GPU, and rgpud waits for nobody and loads nothing of a driver. On standard output:
//
//     gpu UUID NUMBER USED TOTAL    a GPU, its number in the library, bytes
//     figures UTILIZATION TEMPERATURE POWER    of the GPU above: percent, degrees Celsius, milliwatts; -: not told
//     process PID BYTES UTILIZATION            one that uses it
//     past PID UTILIZATION                     one that has ended since the round before
//     answer HEX               what the library answers to a question about it, or before the first GPU about the
//                              machine (proto/nvml_questions.h)
//     hidden                   the library does not tell who uses it
//     round                    that was all for now
//     none REASON              there will be nothing
//
// Answers take the library a while, so questions are asked while somebody wants them: rgpud writes a byte to standard
// input for each client that does. Otherwise they are asked now and then.
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "gauge/questions.h"
#include "proto/nvml_abi.h"

enum { OK = 0, NOT_FOUND = 6, PROCESSES_MAX = 4096, GPUS_MAX = 64, TEMPERATURE_OF_GPU = 0 };

static struct {
    int (*init)(void);
    const char *(*error)(int result);
    int (*count)(unsigned *count);
    int (*device)(unsigned index, void **device);
    int (*uuid)(void *device, char *text, unsigned size);
    int (*memory)(void *device, struct nvml_memory *memory);
    // NULL: the library has not got it
    int (*processes)(void *device, unsigned *count, struct nvml_process *list);
    int (*utilization)(void *device, struct nvml_utilization *utilization);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*power)(void *device, unsigned *milliwatts);
    int (*samples)(void *device, struct nvml_process_sample *list, unsigned *count,
                   unsigned long long since);
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
    find(handle, "nvmlDeviceGetUtilizationRates", &library.utilization);
    find(handle, "nvmlDeviceGetTemperature", &library.temperature);
    find(handle, "nvmlDeviceGetPowerUsage", &library.power);
    find(handle, "nvmlDeviceGetProcessUtilization", &library.samples);
    questions_find(handle);
    int result = library.init();
    return result ? library.error(result) : NULL;
}

// ---- how busy processes are ----

static struct {
    struct nvml_process_sample list[PROCESSES_MAX];
    unsigned count;
    bool told;
    unsigned long long last[GPUS_MAX]; // the newest that has been seen
} samples;

static void take_samples(void *device, unsigned gpu)
{
    samples.count = PROCESSES_MAX;
    int result = library.samples
                     ? library.samples(device, samples.list, &samples.count, samples.last[gpu])
                     : -1;
    samples.told = result == OK || result == NOT_FOUND; // not found: nobody has done anything
    if (result != OK)
        samples.count = 0;
    for (unsigned i = 0; i < samples.count; i++)
        if (samples.list[i].time > samples.last[gpu])
            samples.last[gpu] = samples.list[i].time;
}

// The mean of the time since the last round. A process of which there are no samples has done nothing.
static void print_utilization(unsigned pid)
{
    unsigned long long sum = 0;
    unsigned count = 0;

    for (unsigned i = 0; i < samples.count; i++)
        if (samples.list[i].pid == pid) {
            sum += samples.list[i].sm;
            count++;
        }
    if (samples.told)
        printf(" %llu\n", count ? (sum + count / 2) / count : 0);
    else
        printf(" -\n");
}

static void print_figure(bool told, unsigned value)
{
    if (told)
        printf(" %d", (int)value);
    else
        printf(" -");
}

static void tell_figures(void *device)
{
    struct nvml_utilization utilization = {0};
    unsigned celsius = 0, milliwatts = 0;

    bool busy = library.utilization && library.utilization(device, &utilization) == OK;
    bool warm = library.temperature &&
                library.temperature(device, TEMPERATURE_OF_GPU, &celsius) == OK;
    bool hungry = library.power && library.power(device, &milliwatts) == OK;

    printf("figures");
    print_figure(busy, utilization.gpu);
    print_figure(warm, celsius);
    print_figure(hungry, milliwatts);
    printf("\n");
}

static bool is_listed(const struct nvml_process *list, unsigned count, unsigned pid)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i].pid == pid)
            return true;
    return false;
}

// Each once, though it may have several samples.
static void tell_past(const struct nvml_process *list, unsigned count)
{
    for (unsigned i = 0; i < samples.count; i++) {
        unsigned pid = samples.list[i].pid;
        bool again = false;
        for (unsigned j = 0; j < i && !again; j++)
            again = samples.list[j].pid == pid;
        if (again || is_listed(list, count, pid))
            continue;
        printf("past %u", pid);
        print_utilization(pid);
    }
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
    for (unsigned i = 0; !hidden && i < count; i++) {
        printf("process %u %llu", list[i].pid, list[i].used);
        print_utilization(list[i].pid);
    }
    if (!hidden)
        tell_past(list, count);
}

// ---- what clients ask ----

enum {
    QUESTIONS_SHARE = 10, // a tenth of the time at most is for them, however slow the library is
    WANTED_MS = 30000,    // who has asked may ask again
    UNWANTED_MS = 60000,  // between two times while nobody does
};

static struct {
    struct questions_text system, gpus[GPUS_MAX];
    long long due_ms, wanted_until_ms, asked_ms;
    bool asked;
} known;

static long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void ask_questions(void *const *devices, unsigned count)
{
    long long begin = now_ms();
    bool wanted = !known.asked || begin < known.wanted_until_ms ||
                  begin >= known.asked_ms + UNWANTED_MS;

    if (!wanted || begin < known.due_ms)
        return;
    known.asked = true;
    known.asked_ms = begin;
    questions_ask_system(&known.system);
    for (unsigned i = 0; i < count; i++)
        if (devices[i])
            questions_ask_device(&known.gpus[i], devices[i], devices, count);
    known.due_ms = now_ms() + (now_ms() - begin) * (QUESTIONS_SHARE - 1);
}

static void tell_known(const struct questions_text *text)
{
    if (text->words)
        fputs(text->words, stdout);
}

// A GPU that fails is left out, and the others are told.
static void tell_round(bool with_questions)
{
    void *devices[GPUS_MAX] = {0};
    unsigned count = 0;

    if (library.count(&count) != OK)
        count = 0;
    if (count > GPUS_MAX)
        count = GPUS_MAX;
    for (unsigned i = 0; i < count; i++)
        if (library.device(i, &devices[i]) != OK)
            devices[i] = NULL;
    if (with_questions)
        ask_questions(devices, count);
    tell_known(&known.system);
    for (unsigned i = 0; i < count; i++) {
        struct nvml_memory memory;
        char uuid[96];
        void *device = devices[i];
        if (!device || library.uuid(device, uuid, sizeof(uuid)) != OK ||
            library.memory(device, &memory) != OK)
            continue;
        printf("gpu %s %u %llu %llu\n", uuid, i, memory.used, memory.total);
        tell_figures(device);
        take_samples(device, i);
        tell_processes(device);
        tell_known(&known.gpus[i]);
    }
    printf("round\n");
}

// Waits for the time of the next round, or for somebody who wants answers that are not there.
static void pause_for(long long interval)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    long long until = now_ms() + interval;
    char bytes[64];

    for (long long left = interval; left > 0; left = until - now_ms()) {
        bool fresh = now_ms() < known.wanted_until_ms;
        if (poll(&input, 1, (int)left) <= 0 || read(STDIN_FILENO, bytes, sizeof(bytes)) <= 0) {
            if (input.revents) // nobody can want anything any more
                input.fd = -1;
            continue;
        }
        known.wanted_until_ms = now_ms() + WANTED_MS;
        if (!fresh)
            return;
    }
}

int main(int argc, char **argv)
{
    long long interval = argc == 3 ? atoll(argv[2]) : 0; // milliseconds
    pid_t parent = getppid();

    if (interval <= 0 || interval > INT_MAX) {
        fprintf(stderr, "usage: rgpu-gauge LIBRARY MILLISECONDS\n"
                        "Tells what the GPUs' memory is used for; started by rgpud.\n");
        return 2;
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
        return 1;
    const char *problem = load(argv[1]);
    if (problem)
        return none(problem);
    // The box starts with the first round, which therefore comes before the questions, of which some are slow.
    tell_round(false);
    for (;;) {
        if (fflush(stdout))
            return 1;
        tell_round(true);
        if (fflush(stdout))
            return 1;
        pause_for(interval);
    }
}
