// SPDX-License-Identifier: BSD-3-Clause
// A program that profiles itself by CUPTI's activity interface, as torch.profiler does. It loads
// the library by name, enables records of kernels, copies, sets, calls and external correlation
// ids, and compares the records with its own calls.
//
//     profiled LIBRARY [many]      many: so many kernels that the box cannot keep all records
#include <dlfcn.h>
#include <time.h>

#include "proto/cupti_abi.h"
#include "tests/programs/driver.h"
#include "tests/programs/graph_calls.h"

#define FUNCTIONS(X) \
    X(cuptiGetVersion, (uint32_t *)) \
    X(cuptiGetTimestamp, (uint64_t *)) \
    X(cuptiGetResultString, (CUptiResult, const char **)) \
    X(cuptiActivityRegisterCallbacks, \
      (CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc)) \
    X(cuptiActivityRegisterTimestampCallback, (CUpti_TimestampCallbackFunc)) \
    X(cuptiActivityEnable, (CUpti_ActivityKind)) \
    X(cuptiActivityDisable, (CUpti_ActivityKind)) \
    X(cuptiActivityFlushAll, (uint32_t)) \
    X(cuptiActivityGetNextRecord, (uint8_t *, size_t, struct cupti_record **)) \
    X(cuptiActivityGetNumDroppedRecords, (CUcontext, uint32_t, size_t *)) \
    X(cuptiActivityPushExternalCorrelationId, (uint32_t, uint64_t)) \
    X(cuptiActivityPopExternalCorrelationId, (uint32_t, uint64_t *)) \
    X(cuptiActivitySetAttribute, (uint32_t, size_t *, void *)) \
    X(cuptiActivityGetAttribute, (uint32_t, size_t *, void *)) \
    X(cuptiActivityEnableDriverApi, (uint32_t, uint8_t)) \
    X(cuptiSubscribe, (struct cupti_subscriber **, CUpti_CallbackFunc, void *)) \
    X(cuptiUnsubscribe, (struct cupti_subscriber *)) \
    X(cuptiEnableCallback, (uint32_t, struct cupti_subscriber *, CUpti_CallbackDomain, uint32_t)) \
    X(cuptiEnableDomain, (uint32_t, struct cupti_subscriber *, CUpti_CallbackDomain)) \
    X(cuptiGetCallbackName, (CUpti_CallbackDomain, uint32_t, const char **)) \
    X(cuptiGetStreamIdEx, (CUcontext, CUstream, uint8_t, uint32_t *)) \
    X(cuptiGetContextId, (CUcontext, uint32_t *)) \
    X(cuptiGetDeviceId, (CUcontext, uint32_t *)) \
    X(cuptiProfilerInitialize, (void *)) \
    X(cuptiFinalize, (void))
#define MEMBER(name, parameters) static CUptiResult(*name) parameters;
FUNCTIONS(MEMBER)
#undef MEMBER

enum {
    BUFFER = 4096, // small, so that there are several
    LAUNCHES = 20,
    LARGE = 3 << 20,
    SMALL = 1000,
    MANY = 3000,
    KEPT = 16384,
    CUDA_LAUNCH_KERNEL = 211,
    CUDA_GRAPH_LAUNCH = 311,
};

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMSET,
                                           CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                           CUPTI_ACTIVITY_KIND_RUNTIME,
                                           CUPTI_ACTIVITY_KIND_DRIVER,
                                           CUPTI_ACTIVITY_KIND_OVERHEAD};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

// ---- received records ----

static struct cupti_kernel kernels[KEPT];
static struct cupti_copy_record copies[KEPT];
static struct cupti_set_record sets[KEPT];
static struct cupti_call_record calls[KEPT];
static struct cupti_external_record externals[KEPT];
static unsigned kernel_count, copy_count, set_count, call_count, external_count, buffer_count,
    given;
static size_t dropped;

static void forget(void)
{
    kernel_count = copy_count = set_count = call_count = external_count = buffer_count = 0;
    dropped = 0;
}

static void CUDA_CB give(uint8_t **buffer, size_t *size, size_t *most)
{
    *buffer = aligned_alloc(8, BUFFER);
    *size = BUFFER;
    *most = 0;
    given++;
}

#define KEEP(list, count, type) \
    if (count < KEPT) \
    list[count++] = *(const struct type *)record

static void CUDA_CB take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                         size_t valid)
{
    struct cupti_record *record = NULL;
    size_t lost = 0;
    buffer_count++;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
            KEEP(kernels, kernel_count, cupti_kernel);
        } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
            KEEP(copies, copy_count, cupti_copy_record);
        } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
            KEEP(sets, set_count, cupti_set_record);
        } else if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
            KEEP(externals, external_count, cupti_external_record);
        } else {
            KEEP(calls, call_count, cupti_call_record);
        }
    }
    if (cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS)
        dropped += lost;
    given--;
    free(buffer);
}

static const struct cupti_call_record *call_of(uint32_t correlation)
{
    for (unsigned i = 0; i < call_count; i++)
        if (calls[i].correlation == correlation)
            return &calls[i];
    return NULL;
}

static uint64_t external_of(uint32_t correlation)
{
    for (unsigned i = 0; i < external_count; i++)
        if (externals[i].correlation == correlation)
            return externals[i].external;
    return 0;
}

static void all_kinds(bool on)
{
    unsigned bad = 0;
    for (int i = 0; i < KINDS; i++)
        bad += (on ? cuptiActivityEnable(kinds[i]) : cuptiActivityDisable(kinds[i])) != 0;
    is_int(bad, 0, "%s all kinds that torch.profiler asks for", on ? "enabling" : "disabling");
}

// ---- a clock of the program's own: other units, another beginning ----

static uint64_t ticks(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1000000 + ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) * 3;
}

static uint64_t now(void)
{
    uint64_t time = 0;
    cuptiGetTimestamp(&time);
    return time;
}

// ---- the program ----

struct work {
    struct gpu gpu;
    CUfunction add, empty;
    CUstream streams[2];
    CUdeviceptr memory;
    char *pageable;
    void *pinned;
    CUgraphExec exec;
};

static void prepare(struct work *work)
{
    unsigned n = 64, by = 1;
    CUgraph graph;
    work->gpu = open_gpu(0);
    work->add = kernel(&work->gpu, "add");
    work->empty = kernel(&work->gpu, "empty");
    work->memory = device_alloc(LARGE);
    work->pageable = must_alloc(LARGE);
    CHECK(cuMemAllocHost(&work->pinned, LARGE));
    for (int i = 0; i < 2; i++)
        CHECK(cuStreamCreate(&work->streams[i], CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(work->streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < 3; i++)
        launch(work->add, 1, 64, work->streams[0], &work->memory, &n, &by);
    CHECK(cuStreamEndCapture(work->streams[0], &graph));
    CHECK(cuGraphInstantiate(&work->exec, graph, 0));
}

static void do_work(struct work *work)
{
    unsigned n = 64, by = 1;
    for (unsigned i = 0; i < LAUNCHES; i++) {
        cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_KIND_CUSTOM0, 100 + i);
        launch(work->add, 1 + i % 3, 64, work->streams[i % 2], &work->memory, &n, &by);
        cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_KIND_CUSTOM0, NULL);
    }
    CHECK(cuMemcpyHtoDAsync(work->memory, work->pageable, LARGE, work->streams[0]));
    CHECK(cuMemcpyHtoDAsync(work->memory, work->pinned, LARGE, work->streams[0]));
    CHECK(cuMemcpyDtoHAsync(work->pinned, work->memory, LARGE, work->streams[0]));
    CHECK(cuMemcpyDtoH(work->pageable, work->memory, SMALL));
    CHECK(cuMemsetD8Async(work->memory, 7, SMALL, work->streams[1]));
    CHECK(cuGraphLaunch(work->exec, work->streams[1]));
    CHECK(cuCtxSynchronize());
}

// ---- what must hold ----

static void check_kernels(const struct work *work, uint64_t began, uint64_t ended)
{
    bool seen[LAUNCHES] = {false};
    unsigned launched = 0, in_graph = 0, named = 0, inside = 0, linked = 0, shaped = 0, ordered = 0;
    uint32_t numbers[2] = {0};
    uint64_t last[2] = {0};
    for (int i = 0; i < 2; i++)
        cuptiGetStreamIdEx(work->gpu.context, work->streams[i], 0, &numbers[i]);
    for (unsigned i = 0; i < kernel_count; i++) {
        const struct cupti_kernel *k = &kernels[i];
        const struct cupti_call_record *call = call_of(k->correlation);
        named += !strcmp(k->name, "add");
        inside += began <= k->start && k->start <= k->end && k->end <= ended && call &&
                  call->start <= k->start;
        if (call && call->call == CUDA_GRAPH_LAUNCH) {
            in_graph++;
            continue;
        }
        uint64_t external = external_of(k->correlation);
        unsigned number = (unsigned)external - 100;
        linked += call && call->kind == CUPTI_ACTIVITY_KIND_RUNTIME &&
                  call->call == CUDA_LAUNCH_KERNEL && external >= 100 && number < LAUNCHES &&
                  !seen[number];
        seen[number % LAUNCHES] = true;
        shaped += k->grid[0] == 1 + (int)(number % 3) && k->block[0] == 64 && k->registers > 0;
        unsigned stream = number % 2;
        ordered += k->stream == numbers[stream] && k->start >= last[stream];
        last[stream] = k->end;
        launched++;
    }
    is_int(launched, LAUNCHES, "each launch has a kernel");
    is_int(in_graph, 3, "and each kernel of a graph has the number of the graph's launch");
    is_int(named, LAUNCHES + 3, "by their names");
    is_int(inside, LAUNCHES + 3, "not before their calls, nor after the program knew of their end");
    is_int(linked, LAUNCHES, "they lead to the runtime's call and the program's own number");
    is_int(shaped, LAUNCHES, "with grid, block and registers");
    is_int(ordered, LAUNCHES,
           "in the order of their streams, which have the numbers that the program is told");
    ok(numbers[0] && numbers[1] && numbers[0] != numbers[1], "two streams have two numbers");
}

static const struct cupti_copy_record *copy_of(uint8_t way, uint8_t host, uint64_t bytes)
{
    const struct cupti_copy_record *found = NULL;
    unsigned count = 0;
    for (unsigned i = 0; i < copy_count; i++) {
        const struct cupti_copy_record *c = &copies[i];
        uint8_t memory = way == CUPTI_COPY_HTOD ? c->from : c->to;
        if (c->copy == way && memory == host && c->bytes == bytes && ++count)
            found = c;
    }
    return count == 1 ? found : NULL;
}

static void check_moves(uint32_t stream)
{
    is_int(copy_count, 4, "each copy is one record, however the box made it");
    const struct cupti_copy_record *c = copy_of(CUPTI_COPY_HTOD, CUPTI_MEMORY_PAGEABLE, LARGE);
    ok(c && c->to == CUPTI_MEMORY_DEVICE, "one from ordinary memory");
    ok(c && c->stream == stream, "in the program's stream");
    c = copy_of(CUPTI_COPY_HTOD, CUPTI_MEMORY_PINNED, LARGE);
    ok(c && c->stream == stream, "one from page-locked memory");
    c = copy_of(CUPTI_COPY_DTOH, CUPTI_MEMORY_PINNED, LARGE);
    ok(c && c->from == CUPTI_MEMORY_DEVICE && c->stream == stream, "one back");
    ok(copy_of(CUPTI_COPY_DTOH, CUPTI_MEMORY_PAGEABLE, SMALL), "one to ordinary memory");
    is_int(set_count, 1, "the set is there");
    ok(sets[0].bytes == SMALL && (sets[0].value & 255) == 7, "with its bytes and value");
}

static void profile(struct work *work, const char *clock)
{
    diag("by %s", clock);
    forget();
    all_kinds(true);
    uint64_t began = now();
    do_work(work);
    uint64_t ended = now();
    all_kinds(false);
    ok(given > 0, "a buffer is out before anybody flushes, for which torch.profiler looks");
    do_work(work);
    is_int(cuptiActivityFlushAll(1), CUPTI_SUCCESS, "flushing");
    uint32_t stream = 0, context = 0, device = 77;
    check_kernels(work, began, ended);
    unsigned in_time = 0;
    for (unsigned i = 0; i < call_count; i++)
        in_time += began <= calls[i].start && calls[i].start <= calls[i].end &&
                   calls[i].end <= ended && calls[i].result == 0;
    ok(in_time == call_count && call_count > LAUNCHES, "calls lie within the time of the profile");
    ok(buffer_count > 1 && given == 0, "several buffers were filled, and all given back");
    is_int(dropped, 0, "nothing was lost");
    all_kinds(true);
    is_int(cuptiGetStreamIdEx(NULL, work->streams[0], 0, &stream), 0, "a stream has a number");
    is_int(cuptiGetContextId(work->gpu.context, &context), 0, "a context has one");
    is_int(cuptiGetDeviceId(work->gpu.context, &device), 0, "a device has one");
    all_kinds(false);
    cuptiActivityFlushAll(1); // those were calls, too
    check_moves(stream);
    ok(kernels[0].context == context && kernels[0].device == device, "those that records have");
}

static void refusals(void)
{
    struct cupti_subscriber *who = NULL, *other = NULL;
    const char *text = NULL;
    size_t size = 1;
    uint8_t value = 5, back = 0;
    uint64_t last = 0;
    is_int(cuptiActivityRegisterCallbacks(NULL, take), CUPTI_ERROR_INVALID_PARAMETER,
           "no callback");
    is_int(cuptiActivityEnable((CUpti_ActivityKind)0), CUPTI_ERROR_INVALID_KIND, "kind 0");
    is_int(cuptiActivityEnable((CUpti_ActivityKind)4711), CUPTI_ERROR_INVALID_KIND, "kind 4711");
    is_int(cuptiActivityEnable((CUpti_ActivityKind)30), CUPTI_ERROR_NOT_SUPPORTED,
           "a kind that is not served");
    is_int(cuptiActivityPopExternalCorrelationId(3, &last), CUPTI_ERROR_QUEUE_EMPTY,
           "popping nothing");
    is_int(cuptiActivityPushExternalCorrelationId(99, 1), CUPTI_ERROR_INVALID_PARAMETER,
           "pushing a wrong kind");
    is_int(cuptiGetTimestamp(NULL), CUPTI_ERROR_INVALID_PARAMETER, "no place for a time");
    is_int(cuptiActivityGetNextRecord(NULL, 0, NULL), CUPTI_ERROR_INVALID_PARAMETER, "no buffer");
    is_int(cuptiActivitySetAttribute(9, &size, &value), 0, "an attribute is kept");
    is_int(cuptiActivityGetAttribute(9, &size, &back), 0, "and given");
    is_int(back, 5, "as it was");
    is_int(cuptiActivitySetAttribute(999, &size, &value), CUPTI_ERROR_INVALID_PARAMETER,
           "attribute 999");
    is_int(cuptiSubscribe(&who, (CUpti_CallbackFunc)(void *)take, NULL), 0, "a subscriber");
    is_int(cuptiSubscribe(&other, (CUpti_CallbackFunc)(void *)take, NULL),
           CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "is the only one");
    is_int(cuptiEnableCallback(1, who, CUPTI_CB_DOMAIN_RESOURCE, 2), 0,
           "it may wait for rare events");
    is_int(cuptiEnableDomain(1, who, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_ERROR_NOT_SUPPORTED,
           "and knows that calls are not told");
    is_int(cuptiUnsubscribe(who), 0, "it leaves");
    is_int(cuptiUnsubscribe(who), CUPTI_ERROR_INVALID_PARAMETER, "once");
    is_int(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 307, &text), 0, "a call has a name");
    is_str(text, "cuLaunchKernel", "its own");
    is_int(cuptiGetResultString(CUPTI_ERROR_NOT_SUPPORTED, &text), 0, "a result has a name");
    is_str(text, "CUPTI_ERROR_NOT_SUPPORTED", "its own");
    is_int(cuptiProfilerInitialize(NULL), CUPTI_ERROR_NOT_SUPPORTED, "counters are refused");
}

// More records than the box keeps: the lost ones are counted.
static void many(struct work *work)
{
    forget();
    all_kinds(true);
    for (unsigned i = 0; i < MANY; i++)
        CHECK(cuLaunchKernel(work->empty, 1, 1, 1, 1, 1, 1, 0, work->streams[0], NULL, NULL));
    CHECK(cuCtxSynchronize());
    cuptiActivityFlushAll(0);
    all_kinds(false);
    size_t rest = 0;
    cuptiActivityGetNumDroppedRecords(NULL, 0, &rest);
    ok(kernel_count > 100 && kernel_count < MANY, "a box that keeps few records gives those");
    is_int(kernel_count + dropped + rest, MANY, "and counts the others");
}

static void *keep_working(void *argument)
{
    struct work *work = argument;
    cuCtxSetCurrent(work->gpu.context);
    for (unsigned i = 0; i < MANY; i++)
        cuLaunchKernel(work->empty, 1, 1, 1, 1, 1, 1, 0, work->streams[0], NULL, NULL);
    cuCtxSynchronize();
    return NULL;
}

// Unloads the library while it receives another thread's calls.
static void unload(struct work *work, void *library)
{
    pthread_t thread;
    forget();
    all_kinds(true);
    pthread_create(&thread, NULL, keep_working, work);
    dlclose(library);
    for (int i = 0; i < 20; i++)
        cuptiActivityFlushAll(0);
    pthread_join(thread, NULL);
    cuptiActivityFlushAll(0);
    is_int(kernel_count, MANY, "unloading takes nothing from who still calls");
    all_kinds(false);
}

int main(int argc, char **argv)
{
    struct work work;
    uint32_t version = 0;
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library)
        bail("%s", dlerror());
#define TAKE(name, parameters) \
    if (!(*(void **)&name = dlsym(library, #name))) \
        bail("no " #name);
    FUNCTIONS(TAKE)
    is_int(cuptiGetVersion(&version), 0, "it has a version");
    ok(version > 0, "which is %u", version);
    is_int(cuptiActivityRegisterCallbacks(give, take), 0, "it takes callbacks");
    prepare(&work);
    if (argc > 2) {
        many(&work);
        return done();
    }
    refusals();
    profile(&work, "the clock of the wall");
    is_int(cuptiActivityRegisterTimestampCallback(ticks), 0,
           "a clock of the program's own is taken");
    profile(&work, "a clock of its own");
    unload(&work, library);
    is_int(cuptiFinalize(), 0, "it can be finalized");
    do_work(&work);
    pass("and the program goes on");
    return done();
}
