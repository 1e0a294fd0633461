// SPDX-License-Identifier: BSD-3-Clause
// A program under a lease for the campaign of random faults: repeatedly computes and checks on all
// its devices, and writes its results to a journal that all such programs share. A line is one
// write to a file opened for appending, so lines stand in the order in which things happened.
//
// usage: compute JOURNAL LABEL BUDGET SEED     BUDGET in bytes, 0: the whole device
//
//     round LABEL UUID      data went to the device, was computed on, came back and was right
//     wrong LABEL UUID      it was not
//     exceeded LABEL UUID   more could be allocated than the budget has
//     error LABEL NAME      a call failed; the program ends with 3
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "tests/programs/driver.h"

enum { DEVICES_MAX = 4, NUMBERS = 64 * 1024, COMPUTED = 4096, PAUSE_US = 2000 };

static const char *label;
static int journal;
static uint32_t state;

struct place {
    struct gpu gpu;
    CUfunction add;
    CUdeviceptr data, extra;
    char uuid[40];
};

__attribute__((format(printf, 2, 3))) static void note(const char *what, const char *format, ...)
{
    char line[256];
    int n = snprintf(line, sizeof(line), "%s %s ", what, label);
    va_list arguments;

    va_start(arguments, format);
    n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, arguments);
    va_end(arguments);
    line[n++] = '\n';
    if (write(journal, line, (size_t)n) != n)
        _exit(5);
}

static void give_up(CUresult result)
{
    note("error", "%s", result_name(result));
    _exit(3);
}
#define TRY(call) \
    do { \
        CUresult r_ = (call); \
        if (r_) \
            give_up(r_); \
    } while (0)

static uint32_t random_below(uint32_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

static void open_place(struct place *place, int ordinal)
{
    CUuuid uuid;
    const uint8_t *b = (const uint8_t *)uuid.bytes;

    TRY(cuDeviceGet(&place->gpu.device, ordinal));
    TRY(cuDeviceGetUuid(&uuid, place->gpu.device));
    snprintf(place->uuid, sizeof(place->uuid),
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
    TRY(cuDevicePrimaryCtxRetain(&place->gpu.context, place->gpu.device));
    TRY(cuCtxSetCurrent(place->gpu.context));
    TRY(cuModuleLoadData(&place->gpu.module, kernels_ptx));
    TRY(cuModuleGetFunction(&place->add, place->gpu.module, "add"));
    TRY(cuMemAlloc(&place->data, NUMBERS * 4));
}

// Somewhat more or less memory than before; never more than the budget.
static void change_memory(struct place *place, uint64_t budget)
{
    CUdeviceptr beyond;
    CUresult result;

    if (place->extra)
        TRY(cuMemFree(place->extra));
    place->extra = 0;
    result = cuMemAlloc(&beyond, budget + 1);
    if (result == CUDA_SUCCESS)
        note("exceeded", "%s", place->uuid);
    else if (result != CUDA_ERROR_OUT_OF_MEMORY)
        give_up(result);
    result = cuMemAlloc(&place->extra, 1 + budget / 64 * random_below(64));
    if (result && result != CUDA_ERROR_OUT_OF_MEMORY)
        give_up(result);
    if (result)
        place->extra = 0;
}

static void one_round(struct place *place, uint32_t round)
{
    static uint32_t host[NUMBERS];
    unsigned few = COMPUTED;

    TRY(cuCtxSetCurrent(place->gpu.context));
    for (uint32_t i = 0; i < NUMBERS; i++)
        host[i] = i ^ round;
    TRY(cuMemcpyHtoD(place->data, host, sizeof(host)));
    TRY(cuLaunchKernel(place->add, 4, 1, 1, 128, 1, 1, 0, NULL,
                       (void *[]){&place->data, &round, &few}, NULL));
    TRY(cuMemcpyDtoH(host, place->data, sizeof(host)));
    for (uint32_t i = 0; i < NUMBERS; i++)
        if (host[i] != (i ^ round) + (i < few ? round : 0)) {
            note("wrong", "%s", place->uuid);
            _exit(4);
        }
    note("round", "%s", place->uuid);
}

int main(int argc, char **argv)
{
    static struct place places[DEVICES_MAX];
    uint64_t budget;
    int count = 0;

    if (argc != 5 || (journal = open(argv[1], O_WRONLY | O_APPEND | O_CLOEXEC)) < 0)
        return 2;
    label = argv[2];
    budget = strtoull(argv[3], NULL, 10);
    state = (uint32_t)strtoul(argv[4], NULL, 10);
    TRY(cuInit(0));
    TRY(cuDeviceGetCount(&count));
    count = count < DEVICES_MAX ? count : DEVICES_MAX;
    for (int i = 0; i < count; i++)
        open_place(&places[i], i);
    for (uint32_t round = random_below(1 << 20);; round++) {
        for (int i = 0; i < count; i++) {
            if (budget && random_below(4) == 0)
                change_memory(&places[i], budget);
            one_round(&places[i], round);
        }
        usleep(PAUSE_US);
    }
}
