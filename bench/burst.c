// SPDX-License-Identifier: BSD-3-Clause
// Starts COUNT client processes at once. Each opens the first device of the libcuda.so.1 it is
// started with, loads a module, launches kernels and checks their results. Prints a JSON line: the
// wall time until the last client has ended, and the end of each step in milliseconds from the
// start. bench/burst_clients.py compares.
//
//   burst --probe              prints the device's name
//   burst --calibrate US       prints the rounds of a launch that takes US microseconds
//   burst COUNT LAUNCHES ROUNDS
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/driver.h"

enum { BLOCKS = 264, THREADS = 1024, ITEMS = BLOCKS * THREADS, BATCH = 10, COUNT_MAX = 1024 };

// A client's steps; their times are from a clock that all processes share.
enum step { STEP_BEGUN, STEP_INIT, STEP_CONTEXT, STEP_LOADED, STEP_WORKED, STEPS };
static const char *const step_names[] = {"begun", "init", "context", "loaded", "worked"};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

// ---- a client ----

static uint32_t scrambled(uint32_t x, uint64_t rounds)
{
    for (uint64_t r = 0; r < rounds; r++)
        x = x * 1664525u + 1013904223u;
    return x;
}

static void work(CUfunction scramble, CUdeviceptr data, unsigned launches, unsigned rounds,
                 unsigned items)
{
    for (unsigned i = 0; i < launches; i++) {
        launch(scramble, BLOCKS, THREADS, NULL, &data, &rounds, &items);
        if (i % BATCH == BATCH - 1)
            CHECK(cuStreamSynchronize(NULL));
    }
    CHECK(cuStreamSynchronize(NULL));
}

static int client(unsigned launches, unsigned rounds)
{
    static uint32_t data[ITEMS];
    double times[STEPS] = {[STEP_BEGUN] = now()};
    struct gpu gpu;

    CHECK(cuInit(0));
    times[STEP_INIT] = now();
    CHECK(cuDeviceGet(&gpu.device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&gpu.context, gpu.device));
    CHECK(cuCtxSetCurrent(gpu.context));
    times[STEP_CONTEXT] = now();
    CHECK(cuModuleLoadData(&gpu.module, kernels_ptx));
    CUfunction scramble = kernel(&gpu, "scramble");
    CUdeviceptr memory = device_alloc(sizeof(data));
    for (unsigned i = 0; i < ITEMS; i++)
        data[i] = i;
    CHECK(cuMemcpyHtoD(memory, data, sizeof(data)));
    times[STEP_LOADED] = now();
    work(scramble, memory, launches, rounds, ITEMS);
    CHECK(cuMemcpyDtoH(data, memory, sizeof(data)));
    times[STEP_WORKED] = now();
    for (unsigned i = 0; i < ITEMS; i += ITEMS / 4)
        if (data[i] != scrambled(i, (uint64_t)launches * rounds)) {
            fprintf(stderr, "burst: item %u is wrong\n", i);
            return 1;
        }
    for (enum step s = 0; s < STEPS; s++)
        printf("%.3f ", times[s]);
    printf("\n");
    return 0;
}

static int calibrate(double microseconds)
{
    struct gpu gpu = open_gpu(0);
    CUfunction scramble = kernel(&gpu, "scramble");
    CUdeviceptr memory = device_alloc(ITEMS * sizeof(uint32_t));
    double took = 0;
    unsigned rounds = 64;

    // Doubles the rounds until the kernel's own time dominates.
    for (;; rounds *= 2) {
        work(scramble, memory, BATCH, rounds, ITEMS);
        double start = now();
        work(scramble, memory, BATCH, rounds, ITEMS);
        took = (now() - start) * 1e3 / BATCH;
        if (took > microseconds / 2 || rounds > 1u << 24)
            break;
    }
    printf("%u\n", (unsigned)(rounds * microseconds / took) + 1);
    return 0;
}

static int probe(void)
{
    char name[128];
    CUdevice device;

    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDeviceGetName(name, sizeof(name), device))
        return 1;
    printf("%s\n", name);
    return 0;
}

// ---- all clients ----

// Starts a client. Returns the descriptor of its output.
static int start(char *launches, char *rounds)
{
    extern char **environ;
    char *arguments[] = {"burst", "--client", launches, rounds, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) || posix_spawn_file_actions_init(&actions) ||
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) ||
        posix_spawn(&pid, "/proc/self/exe", &actions, NULL, arguments, environ))
        tap_bail(__FILE__, __LINE__, "cannot start a client");
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    return ends[0];
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Prints the median and the last of the times at which a step ended.
static void tell_step(const char *name, double *times, unsigned count)
{
    qsort(times, count, sizeof(*times), compare);
    printf(", \"%s\": [%.3f, %.3f]", name, times[count / 2], times[count - 1]);
}

static int all(unsigned count, char *launches, char *rounds)
{
    static double times[STEPS][COUNT_MAX], ended[COUNT_MAX];
    static int outputs[COUNT_MAX];
    unsigned failed = 0, told = 0;
    int status;

    double begin = now();
    for (unsigned i = 0; i < count; i++)
        outputs[i] = start(launches, rounds);
    for (unsigned i = 0; i < count; i++) {
        wait(&status);
        ended[i] = now() - begin;
        failed += status != 0;
    }
    for (unsigned i = 0; i < count; i++) {
        FILE *file = fdopen(outputs[i], "r");
        double one[STEPS];
        if (!file || fscanf(file, "%lf %lf %lf %lf %lf", &one[0], &one[1], &one[2], &one[3],
                            &one[4]) != STEPS)
            continue;
        for (enum step s = 0; s < STEPS; s++)
            times[s][told] = one[s] - begin;
        told++;
    }
    printf("{\"clients\": %u, \"failed\": %u, \"wall\": %.3f", count, failed, ended[count - 1]);
    for (enum step s = 0; told && s < STEPS; s++)
        tell_step(step_names[s], times[s], told);
    tell_step("ended", ended, count);
    printf("}\n");
    return failed != 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 2 && !strcmp(argv[1], "--probe"))
        return probe();
    if (argc == 3 && !strcmp(argv[1], "--calibrate"))
        return calibrate(atof(argv[2]));
    if (argc == 4 && !strcmp(argv[1], "--client"))
        return client((unsigned)atoi(argv[2]), (unsigned)strtoul(argv[3], NULL, 10));
    int count = argc == 4 ? atoi(argv[1]) : 0;
    if (count < 1 || count > COUNT_MAX) {
        fprintf(stderr, "usage: burst COUNT LAUNCHES ROUNDS | --calibrate US | --probe\n");
        return 2;
    }
    return all((unsigned)count, argv[2], argv[3]);
}
