// SPDX-License-Identifier: BSD-3-Clause
// Measures put and notify between two GPUs, or between two ranks of one GPU, as in the dCUDA paper:
// one way of a put of 4 bytes with its signal, of a signal alone, and the rate of consecutive large
// puts.
//
//   ping_pong streams 1|2 [BYTES [TIMES]]          two members, whose streams put
//   ping_pong kernels 1|2 [BYTES [TIMES [PAIRS]]]  kernels put: one pair of ranks, and PAIRS
//                                                 at once
//
// The digit is the number of GPUs. All round trips are queued before the first begins, and the
// start-up time is subtracted. Streams make few round trips, because a limited number of puts may
// be queued between boxes.
#include "bench/studies/programs/study.h"
#include <rgpu.h>

enum { TRIES = 5, GO = 1, TAGS = 2, THREADS = 256 };

__asm__(".pushsection .rodata\n"
        "ping_pong_ptx: .incbin \"bench/studies/programs/ping_pong.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char ping_pong_ptx[] __attribute__((visibility("hidden")));

#define TEAM(call) must_do((call), #call)
static void must_do(enum rgpu_result result, const char *text)
{
    if (!result)
        return;
    fprintf(stderr, "%s gave %d: %s\n", text, (int)result, rgpu_error_text());
    exit(1);
}

struct member {
    struct gpu gpu;
    CUstream stream, starter;
    CUmodule module;
    CUdeviceptr memory;
};

static struct member members[2];
static struct rgpu_team *team;
static int count, on_gpus;
static size_t large;
static unsigned times, pairs;

static void on(int i)
{
    CHECK(cuCtxSetCurrent(members[i].gpu.context));
}

static void open_members(void)
{
    CUcontext contexts[2];
    int there;
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&there));
    if (there < on_gpus)
        skip_all("%d GPUs are too few", there);
    for (int i = 0; i < count; i++) {
        members[i].gpu = open_gpu(i % on_gpus);
        contexts[i] = members[i].gpu.context;
        CHECK(cuStreamCreate(&members[i].stream, CU_STREAM_NON_BLOCKING));
        CHECK(cuStreamCreate(&members[i].starter, CU_STREAM_NON_BLOCKING));
        CHECK(cuModuleLoadData(&members[i].module, ping_pong_ptx));
    }
    TEAM(rgpu_team_create(&team, contexts, count));
}

static struct rgpu_window *new_window(size_t size)
{
    struct rgpu_window *window;
    CUdeviceptr bases[2];
    size_t sizes[2];
    for (int i = 0; i < count; i++) {
        on(i);
        bases[i] = members[i].memory = device_alloc(size);
        sizes[i] = size;
        CHECK(cuMemsetD8(bases[i], (unsigned char)(i + 1), size));
        CHECK(cuCtxSynchronize());
    }
    TEAM(rgpu_window_register(team, bases, sizes, TAGS, &window));
    return window;
}

static void end_window(struct rgpu_window *window)
{
    TEAM(rgpu_team_check(team));
    TEAM(rgpu_window_free(&window));
    for (int i = 0; i < count; i++) {
        on(i);
        CHECK(cuMemFree(members[i].memory));
    }
}

static void synchronize(void)
{
    for (int i = 0; i < count; i++) {
        on(i);
        CHECK(cuStreamSynchronize(members[i].stream));
    }
}

static void say(const char *what, const char *how, double value, const char *unit)
{
    char name[96];
    snprintf(name, sizeof(name), "%s, %s, %s", what, how, on_gpus == 1 ? "one GPU" : "two GPUs");
    study_figure(name, value, unit);
}

// ---- by streams ----

static void put(struct rgpu_window *window, int from, size_t bytes, int tag, CUstream stream)
{
    on(from);
    TEAM(rgpu_put_signal_async(window, from, !from, 0, members[from].memory, bytes, tag, stream));
}

static void await(struct rgpu_window *window, int at, int tag, int signals)
{
    on(at);
    TEAM(rgpu_signal_wait_async(window, at, !at, tag, signals, members[at].stream));
}

// All queued work waits for this.
static double timed_from_go(struct rgpu_window *window)
{
    double start = study_now();
    put(window, 1, 0, GO, members[1].starter);
    synchronize();
    return study_now() - start;
}

static double trips_by_streams(struct rgpu_window *window, size_t bytes, unsigned trips)
{
    await(window, 0, GO, 1);
    for (unsigned i = 0; i < trips; i++) {
        put(window, 0, bytes, 0, members[0].stream);
        await(window, 1, 0, 1);
        put(window, 1, bytes, 0, members[1].stream);
        await(window, 0, 0, 1);
    }
    return timed_from_go(window);
}

static double puts_by_streams(struct rgpu_window *window, size_t bytes, unsigned puts)
{
    await(window, 0, GO, 1);
    for (unsigned i = 0; i < puts; i++)
        put(window, 0, bytes, 0, members[0].stream);
    await(window, 1, 0, (int)puts);
    return timed_from_go(window);
}

// ---- by kernels ----

struct kernels {
    CUdeviceptr handles[2];
    unsigned blocks;
    size_t place;
};

static double run(const struct kernels *k, const char *name, size_t bytes, unsigned repeats)
{
    CUfunction functions[2];
    uint64_t place = k->place, size = bytes;
    for (int i = 0; i < count; i++)
        CHECK(cuModuleGetFunction(&functions[i], members[i].module, name));
    double start = study_now();
    for (int i = 0; i < count; i++) {
        void *parameters[] = {(void *)&k->handles[i], &place, &size, &repeats};
        on(i);
        CHECK(cuLaunchCooperativeKernel(functions[i], k->blocks, 1, 1, THREADS, 1, 1, 0,
                                        members[i].stream, parameters));
    }
    synchronize();
    return study_now() - start;
}

// ---- both ----

struct what {
    struct rgpu_window *window;    // by streams
    const struct kernels *kernels; // or by these
    const char *kernel;
    size_t bytes;
    bool there_and_back;
};

static double once(const struct what *w, unsigned repeats)
{
    if (w->kernels)
        return run(w->kernels, w->kernel, w->bytes, repeats);
    return w->there_and_back ? trips_by_streams(w->window, w->bytes, repeats)
                             : puts_by_streams(w->window, w->bytes, repeats);
}

// Returns the seconds per repetition: many minus one, divided by their number. If noise hides that,
// returns the mean including the start.
static double each(const struct what *w, unsigned repeats)
{
    double samples[TRIES];
    once(w, repeats);
    for (int i = 0; i < TRIES; i++) {
        double least = once(w, 1), all = once(w, repeats);
        samples[i] = all > least ? (all - least) / (repeats - 1) : all / repeats;
    }
    return study_median(samples, TRIES);
}

static void measure(const struct what *by, const char *how)
{
    struct what w = *by;
    w.kernel = "ping_pong";
    w.there_and_back = true;
    w.bytes = 4;
    say("put of 4 B", how, each(&w, times) / 2 * 1e6, "us");
    w.bytes = 0;
    say("signal", how, each(&w, times) / 2 * 1e6, "us");
}

static void measure_rate(const struct what *by, const char *how, unsigned ranks)
{
    struct what w = *by;
    w.kernel = "stream_of_puts";
    w.there_and_back = false;
    w.bytes = large;
    say("large puts", how, (double)large * ranks / each(&w, times / 4 + 2) / 1e9, "GB/s");
}

static void by_streams(void)
{
    struct rgpu_window *window = new_window(large);
    struct what w = {.window = window};
    measure(&w, "streams");
    measure_rate(&w, "streams", 1);
    end_window(window);
}

static void by_kernels(unsigned at_once, const char *how)
{
    struct kernels k = {.blocks = at_once * 2 / (unsigned)count, .place = large};
    struct rgpu_window *window = new_window(k.blocks * k.place);
    TEAM(rgpu_window_open_device(window, (int)k.blocks, k.handles));
    struct what w = {.kernels = &k};
    measure(&w, how);
    measure_rate(&w, how, at_once);
    end_window(window);
}

int main(int argc, char **argv)
{
    bool kernels = argc > 2 && !strcmp(argv[1], "kernels");
    if (argc < 3 || (!kernels && strcmp(argv[1], "streams") != 0) || !strchr("12", argv[2][0])) {
        fprintf(stderr, "usage: ping_pong streams|kernels 1|2 [BYTES [TIMES [PAIRS]]]\n");
        return 2;
    }
    on_gpus = atoi(argv[2]);
    large = argc > 3 ? strtoul(argv[3], NULL, 10) : 1 << 20;
    times = argc > 4 ? (unsigned)atoi(argv[4]) : kernels ? 2000 : 24;
    pairs = argc > 5 ? (unsigned)atoi(argv[5]) : 26;
    count = kernels ? on_gpus : 2;
    open_members();
    if (kernels) {
        by_kernels(1, "kernels");
        by_kernels(pairs, "kernels, all ranks");
    } else {
        by_streams();
    }
    rgpu_team_destroy(&team);
    return 0;
}
