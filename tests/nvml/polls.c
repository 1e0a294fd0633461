// SPDX-License-Identifier: BSD-3-Clause
// A program that watches its GPUs through the management library, as monitors do.
// usage: polls LIBRARY threads    many threads begin, ask and end at once, and a child that is
//                                 forked meanwhile
//        polls LIBRARY unload     the library is unloaded while threads ask
//        polls LIBRARY lost       prints "polling", "lost" once the box is gone, and "back" once it
//                                 is there again
//        polls LIBRARY garbage    arguments that no program should give
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/nvml_abi.h"
#include "proto/nvml_questions.h"

enum { THREADS = 6, ROUNDS = 20, SLOTS = 512 };

static struct {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, void **device);
    int (*name)(void *device, char *text, unsigned size);
    int (*memory)(void *device, struct nvml_memory *out);
    int (*memory_v2)(void *device, struct nvml_memory_v2 *out);
    int (*utilization)(void *device, struct nvml_utilization *out);
    int (*processes)(void *device, unsigned *count, struct nvml_process *out);
    int (*clock)(void *device, unsigned type, unsigned *out);
    int (*fields)(void *device, int count, struct nvml_field *values);
    int (*table)(const void **table, const void *id);
    int (*by_pci)(const char *bus_id, void **device);
    int (*by_uuid)(const char *uuid, void **device);
    int (*mig)(void *device, void *out);
} nvml;

static atomic_uint failures, ended;

static void fail(const char *what, int got)
{
    fprintf(stderr, "%s: %d\n", what, got);
    failures++;
}

#define EXPECT(what, got, wanted) \
    do { \
        int got_ = (got); \
        if (got_ != (wanted)) \
            fail(what, got_); \
    } while (0)

static void *load(const char *path)
{
    static const struct {
        void *to;
        const char *name;
    } wanted[] = {
        {&nvml.init, "nvmlInit_v2"},
        {&nvml.shutdown, "nvmlShutdown"},
        {&nvml.count, "nvmlDeviceGetCount_v2"},
        {&nvml.handle, "nvmlDeviceGetHandleByIndex_v2"},
        {&nvml.name, "nvmlDeviceGetName"},
        {&nvml.memory, "nvmlDeviceGetMemoryInfo"},
        {&nvml.memory_v2, "nvmlDeviceGetMemoryInfo_v2"},
        {&nvml.utilization, "nvmlDeviceGetUtilizationRates"},
        {&nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3"},
        {&nvml.clock, "nvmlDeviceGetClockInfo"},
        {&nvml.fields, "nvmlDeviceGetFieldValues"},
        {&nvml.table, "nvmlInternalGetExportTable"},
        {&nvml.by_pci, "nvmlDeviceGetHandleByPciBusId_v2"},
        {&nvml.by_uuid, "nvmlDeviceGetHandleByUUID"},
        {&nvml.mig, "nvmlDeviceGetMigDeviceHandleByIndex"},
    };
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; handle && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        void *address = dlsym(handle, wanted[i].name);
        if (!address)
            fail(wanted[i].name, -1);
        memcpy(wanted[i].to, &address, sizeof(address));
    }
    if (!handle)
        fail(dlerror(), -1);
    return handle;
}

static void ask_once(void)
{
    struct nvml_memory memory;
    struct nvml_utilization utilization;
    unsigned count = 0, processes = 0;
    void *device;

    EXPECT("init", nvml.init(), NVML_OK);
    EXPECT("count", nvml.count(&count), NVML_OK);
    for (unsigned i = 0; i < count; i++) {
        EXPECT("handle", nvml.handle(i, &device), NVML_OK);
        EXPECT("memory", nvml.memory(device, &memory), NVML_OK);
        EXPECT("utilization", nvml.utilization(device, &utilization), NVML_OK);
        EXPECT("processes", nvml.processes(device, &processes, NULL), NVML_OK);
    }
    EXPECT("shutdown", nvml.shutdown(), NVML_OK);
}

static void *ask_often(void *unused)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        ask_once();
    ended++;
    return NULL;
}

static void start_threads(pthread_t threads[THREADS])
{
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, ask_often, NULL))
            exit(2);
}

static void join_threads(pthread_t threads[THREADS])
{
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void ask_in_threads(void)
{
    pthread_t threads[THREADS];
    int status = -1;

    start_threads(threads);
    while (ended < THREADS) {
        pid_t child = fork();
        if (!child) {
            ask_once();
            _exit(failures ? 1 : 0);
        }
        if (waitpid(child, &status, 0) != child || status)
            fail("a child", status);
    }
    join_threads(threads);
}

static void unload(const char *path, void *handle)
{
    pthread_t threads[THREADS];

    start_threads(threads);
    EXPECT("dlclose", dlclose(handle), 0);
    while (ended < THREADS) {
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle || dlclose(handle))
            fail("loading and unloading", -1);
    }
    join_threads(threads);
}

static void await_memory(void *device, int wanted, const char *word)
{
    struct nvml_memory memory;

    while (nvml.memory(device, &memory) != wanted)
        usleep(20000); // between two looks, as monitors do; nothing is concluded from it
    printf("%s\n", word);
    fflush(stdout);
}

static void watch(void)
{
    char name[96];
    void *device;

    EXPECT("init", nvml.init(), NVML_OK);
    EXPECT("handle", nvml.handle(0, &device), NVML_OK);
    await_memory(device, NVML_OK, "polling");
    await_memory(device, NVML_GPU_IS_LOST, "lost");
    EXPECT("a lost GPU's name", nvml.name(device, name, sizeof(name)), NVML_GPU_IS_LOST);
    await_memory(device, NVML_OK, "back");
}

static void call_table(void)
{
    static const uint8_t id[16] = {0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                   0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4},
                         other[16] = {1};
    const uintptr_t *table = NULL;
    const void *out = &id;

    EXPECT("an unknown table", nvml.table(&out, other), NVML_NOT_FOUND);
    if (out)
        fail("what an unknown table is", -1);
    EXPECT("no table", nvml.table(NULL, id), NVML_INVALID_ARGUMENT);
    EXPECT("no id", nvml.table(&out, NULL), NVML_INVALID_ARGUMENT);
    EXPECT("nvidia-smi's table", nvml.table((const void **)&table, id), NVML_OK);
    if (table[0] != SLOTS * sizeof(*table))
        fail("its size", (int)table[0]);
    for (unsigned i = 1; i < SLOTS; i++) {
        int (*slot)(void *, void *, void *, void *);
        memcpy(&slot, &table[i], sizeof(slot));
        int result = slot ? slot(NULL, NULL, NULL, NULL) : -1;
        if (result < 0 || (result == NVML_OK && i != 26)) // the log takes anything
            fail("a place of the table", (int)i);
    }
}

static void give_garbage(void)
{
    struct nvml_memory_v2 memory = {.version = 77};
    struct nvml_field fields[3] = {{.field = 82},
                                   {.field = 0xffffffff},
                                   {.field = 1, .scope = ~0u}};
    unsigned number = 1;
    void *device = NULL;
    char text[2];

    EXPECT("before the beginning", nvml.count(&number), NVML_UNINITIALIZED);
    EXPECT("an end before the beginning", nvml.shutdown(), NVML_UNINITIALIZED);
    EXPECT("what is not supported, before it", nvml.mig(NULL, NULL), NVML_UNINITIALIZED);
    EXPECT("init", nvml.init(), NVML_OK);
    EXPECT("no count", nvml.count(NULL), NVML_INVALID_ARGUMENT);
    EXPECT("a large index", nvml.handle(1000000, &device), NVML_INVALID_ARGUMENT);
    EXPECT("no handle", nvml.handle(0, NULL), NVML_INVALID_ARGUMENT);
    EXPECT("no such GPU", nvml.by_uuid("GPU-00000000-0000-0000-0000-000000000000", &device),
           NVML_NOT_FOUND);
    EXPECT("no place", nvml.by_pci("no place", &device), NVML_NOT_FOUND);
    EXPECT("NULL as a device", nvml.name(NULL, text, sizeof(text)), NVML_INVALID_ARGUMENT);
    EXPECT("anything as a device", nvml.name(&number, text, sizeof(text)), NVML_INVALID_ARGUMENT);
    EXPECT("handle", nvml.handle(0, &device), NVML_OK);
    EXPECT("a short text", nvml.name(device, text, sizeof(text)), NVML_INSUFFICIENT_SIZE);
    EXPECT("no text", nvml.name(device, NULL, 96), NVML_INVALID_ARGUMENT);
    EXPECT("no memory", nvml.memory(device, NULL), NVML_INVALID_ARGUMENT);
    EXPECT("a wrong version", nvml.memory_v2(device, &memory), NVML_VERSION_MISMATCH);
    EXPECT("an unknown clock", nvml.clock(device, 4711, &number), NVML_NOT_SUPPORTED);
    EXPECT("fields", nvml.fields(device, 3, fields), NVML_OK);
    for (unsigned i = 0; i < 3; i++)
        EXPECT("a field", fields[i].result, NVML_NOT_SUPPORTED);
    EXPECT("no fields", nvml.fields(device, 0, fields), NVML_INVALID_ARGUMENT);
    EXPECT("what is not supported", nvml.mig(device, NULL), NVML_NOT_SUPPORTED);
    call_table();
    EXPECT("shutdown", nvml.shutdown(), NVML_OK);
    EXPECT("after the end", nvml.count(&number), NVML_UNINITIALIZED);
}

int main(int argc, char **argv)
{
    void *handle = argc == 3 ? load(argv[1]) : NULL;

    if (!handle || failures)
        return 2;
    if (!strcmp(argv[2], "threads"))
        ask_in_threads();
    else if (!strcmp(argv[2], "unload"))
        unload(argv[1], handle);
    else if (!strcmp(argv[2], "lost"))
        watch();
    else
        give_garbage();
    return failures ? 1 : 0;
}
