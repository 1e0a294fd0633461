// SPDX-License-Identifier: BSD-3-Clause
// Measures four collectives of NCCL over GPUS in one process, each checked once before; one figure
// for each and size.
//
//   collective_calls GPUS MOST-BYTES [LIBRARY [TIMES]]     LIBRARY: libnccl.so.2 by default
//
// It declares NCCL's interface itself, because it is built without NCCL.
#include <dlfcn.h>

#include "bench/studies/programs/study.h"

enum { MOST_GPUS = 16, FLOAT = 7, SUM = 0, WARM = 3, TRIES = 3 };

typedef struct ncclComm *comm_t;
static int (*init_all)(comm_t *, int, const int *), (*destroy)(comm_t), (*group_start)(void),
    (*group_end)(void);
static int (*all_reduce)(const void *, void *, size_t, int, int, comm_t, CUstream);
static int (*all_gather)(const void *, void *, size_t, int, comm_t, CUstream);
static int (*broadcast)(const void *, void *, size_t, int, int, comm_t, CUstream);
static int (*send_to)(const void *, size_t, int, int, comm_t, CUstream);
static int (*receive)(void *, size_t, int, int, comm_t, CUstream);
static const char *(*error_of)(comm_t);

static int gpus;
static unsigned fixed_times;
static struct gpu opened[MOST_GPUS];
static CUstream streams[MOST_GPUS];
static comm_t comms[MOST_GPUS];
static CUdeviceptr from[MOST_GPUS], to[MOST_GPUS];

#define NCCL(call) nccl((call), #call)
static void nccl(int result, const char *text)
{
    if (result)
        bail("%s gave %d: %s", text, result, error_of(NULL));
}

static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        bail("%s", dlerror());
    const struct {
        const char *name;
        void *place;
    } wanted[] = {{"ncclCommInitAll", &init_all},   {"ncclCommDestroy", &destroy},
                  {"ncclGroupStart", &group_start}, {"ncclGroupEnd", &group_end},
                  {"ncclAllReduce", &all_reduce},   {"ncclAllGather", &all_gather},
                  {"ncclBroadcast", &broadcast},    {"ncclSend", &send_to},
                  {"ncclRecv", &receive},           {"ncclGetLastError", &error_of}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        void *found = dlsym(library, wanted[i].name);
        if (!found)
            bail("%s has no %s", path, wanted[i].name);
        memcpy(wanted[i].place, &found, sizeof(found));
    }
}

static void on(int i)
{
    CHECK(cuCtxSetCurrent(opened[i].context));
}

static void synchronize(void)
{
    for (int i = 0; i < gpus; i++) {
        on(i);
        CHECK(cuStreamSynchronize(streams[i]));
    }
}

// Run each collective for rank I, on COUNT numbers in all; each rank owns `part` of them.
static void do_all_reduce(int i, size_t count)
{
    NCCL(all_reduce((void *)from[i], (void *)to[i], count, FLOAT, SUM, comms[i], streams[i]));
}

static void do_broadcast(int i, size_t count)
{
    NCCL(broadcast((void *)from[i], (void *)to[i], count, FLOAT, 0, comms[i], streams[i]));
}

static void do_all_gather(int i, size_t count)
{
    NCCL(all_gather((void *)from[i], (void *)to[i], count / (size_t)gpus, FLOAT, comms[i],
                    streams[i]));
}

static void do_all_to_all(int i, size_t count)
{
    size_t part = count / (size_t)gpus;
    for (int other = 0; other < gpus; other++) {
        size_t place = (size_t)other * part * sizeof(float);
        NCCL(send_to((void *)(from[i] + place), part, FLOAT, other, comms[i], streams[i]));
        NCCL(receive((void *)(to[i] + place), part, FLOAT, other, comms[i], streams[i]));
    }
}

struct timed_collective {
    const char *name;
    void (*of_rank)(int i, size_t count);
    bool by_parts; // each number is that of the rank that owns the part
};
static const struct timed_collective all[] = {{"all-reduce", do_all_reduce, false},
                                              {"broadcast", do_broadcast, false},
                                              {"all-gather", do_all_gather, true},
                                              {"all-to-all", do_all_to_all, true}};

static void once(const struct timed_collective *c, size_t count)
{
    NCCL(group_start());
    for (int i = 0; i < gpus; i++) {
        on(i);
        c->of_rank(i, count);
    }
    NCCL(group_end());
}

static float wanted(const struct timed_collective *c, size_t place, size_t count)
{
    if (c->by_parts)
        return (float)(place / (count / (size_t)gpus) + 1);
    return c->of_rank == do_broadcast ? 1 : (float)(gpus * (gpus + 1) / 2);
}

// Checks a collective; rank i contributes i + 1 everywhere.
static void check(const struct timed_collective *c, size_t count)
{
    float *got = malloc(count * sizeof(float));
    for (int i = 0; i < gpus; i++) {
        on(i);
        CHECK(cuMemsetD32(to[i], 0, count));
        CHECK(cuCtxSynchronize());
    }
    once(c, count);
    synchronize();
    for (int i = 0; i < gpus; i++) {
        on(i);
        CHECK(cuMemcpyDtoH(got, to[i], count * sizeof(float)));
        for (size_t place = 0; place < count; place++)
            if (got[place] != wanted(c, place, count))
                bail("%s of %zu: rank %d has %g at %zu", c->name, count, i, (double)got[place],
                     place);
    }
    free(got);
}

static void measure(const struct timed_collective *c, size_t bytes)
{
    size_t count = bytes / sizeof(float);
    unsigned times = fixed_times ? fixed_times : bytes <= 1 << 20 ? 100 : 10;
    double tries[TRIES];
    check(c, count);
    for (int i = 0; i < WARM; i++)
        once(c, count);
    for (int i = 0; i < TRIES; i++) {
        synchronize();
        double start = study_now();
        for (unsigned n = 0; n < times; n++)
            once(c, count);
        synchronize();
        tries[i] = (study_now() - start) / times;
    }
    study_figure_at(c->name, bytes, study_median(tries, TRIES) * 1e6, "us");
}

int main(int argc, char **argv)
{
    gpus = argc > 2 ? atoi(argv[1]) : 0;
    size_t most = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if (gpus < 1 || gpus > MOST_GPUS || most < 64)
        bail("usage: collective_calls GPUS MOST-BYTES [LIBRARY [TIMES]]");
    fixed_times = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
    int devices[MOST_GPUS];
    for (int i = 0; i < gpus; i++) {
        opened[i] = open_gpu(devices[i] = i);
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        from[i] = device_alloc(most);
        to[i] = device_alloc(most);
        uint32_t word;
        memcpy(&word, &(float){(float)(i + 1)}, sizeof(word));
        CHECK(cuMemsetD32(from[i], word, most / 4));
        CHECK(cuCtxSynchronize());
    }
    load(argc > 3 ? argv[3] : "libnccl.so.2");
    NCCL(init_all(comms, gpus, devices));
    for (size_t bytes = 64; bytes <= most; bytes *= bytes < 4096 ? 64 : 16)
        for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
            measure(&all[i], bytes);
    for (int i = 0; i < gpus; i++)
        NCCL(destroy(comms[i]));
    return 0;
}
