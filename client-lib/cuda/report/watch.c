// SPDX-License-Identifier: BSD-3-Clause
// The counts of each thread.
#include "client-lib/cuda/report/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/report/summary.h"
#include "client-lib/cuda/report/timeline.h"
#include "common/base/log.h"

atomic_bool watch_on;

// Shorter waits are not counted.
enum { NO_WAIT_NS = 1000 };

// Shorter calls that move no data are counted, but not drawn.
enum { TRIFLE_NS = 1000 };

static struct {
    bool summary, timeline, failures;
    atomic_bool numbered;
    void (*_Atomic called)(const struct profiler_call *call);
    atomic_uint next_number;
    uint64_t began;
    pthread_once_t once;
    bool has_key;
    pthread_key_t key; // releases the counts of a thread that ends
    struct thread_counts *_Atomic threads;
    void (*describe)(FILE *out);
} watch = {.once = PTHREAD_ONCE_INIT, .next_number = 1};

__thread uint32_t watch_number;

static __thread struct thread_counts *mine;

static void watch_thread_ends(void *argument)
{
    struct thread_counts *counts = argument;
    if (watching() && counts->buffer)
        timeline_hand_over(&counts->buffer);
    mine = NULL;
    atomic_store(&counts->owned, false);
}

// Returns the counts of a thread that has ended, so that many short threads need no more memory
// than few.
static struct thread_counts *left_behind(void)
{
    for (struct thread_counts *at = atomic_load(&watch.threads); at; at = at->next) {
        bool owned = false;
        if (atomic_compare_exchange_strong(&at->owned, &owned, true))
            return at;
    }
    return NULL;
}

static struct thread_counts *new_counts(void)
{
    struct thread_counts *counts = calloc(1, sizeof(*counts));
    if (!counts)
        return NULL;
    atomic_store(&counts->owned, true);
    counts->next = atomic_load(&watch.threads);
    while (!atomic_compare_exchange_weak(&watch.threads, &counts->next, counts))
        ;
    return counts;
}

// Returns the calling thread's counts; NULL if memory has run out.
static struct thread_counts *my_counts(void)
{
    if (__builtin_expect(!mine, 0)) {
        mine = left_behind();
        if (!mine)
            mine = new_counts();
        if (!mine)
            return NULL;
        pthread_setspecific(watch.key, mine);
    }
    return mine;
}

static void watch_add_event(struct thread_counts *counts, const struct timeline_event *event)
{
    if (!counts->buffer)
        counts->buffer = timeline_take();
    if (!counts->buffer)
        return;
    counts->buffer->events[counts->buffer->count++] = *event;
    if (counts->buffer->count == TIMELINE_EVENTS)
        timeline_hand_over(&counts->buffer);
}

// Returns true if calls of that name give the GPU work: the timeline draws arrows from them.
static bool watch_gives_work(unsigned int op)
{
    static const char *const beginnings[] = {"cuLaunch", "cuMemcpy", "cuMemset", "cuGraphLaunch"};
    const char *name = cuda_op_name(op);
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
            return true;
    return false;
}

static void watch_add_call(struct thread_counts *counts, unsigned int op, uint64_t began,
                           uint64_t ended, CUresult result)
{
    struct timeline_event *now = &counts->now;
    now->number = watch_number && watch_gives_work(op) ? watch_number : 0;
    // Omits short calls that the client library answers by itself: there are many, and they cost no
    // time.
    if (ended - began >= TRIFLE_NS || now->bytes || now->kernel[0] || now->number ||
        result != CUDA_SUCCESS) {
        now->began = began;
        now->ended = ended;
        now->result = (int32_t)result;
        now->op = (uint16_t)op;
        watch_add_event(counts, now);
    }
    now->bytes = 0;
    now->kernel[0] = 0;
    now->pageable = false;
}

static struct call_count *count_call(struct thread_counts *counts, unsigned int op, CUresult result)
{
    struct call_count *count = &counts->calls[op];
    count_add(&count->calls, 1);
    // CUDA_ERROR_NOT_READY is an answer, not a failure.
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) {
        count_add(&count->failed, 1);
        if (watch.failures)
            log_debug("call failed name=%s result=%d", cuda_op_name(op), (int)result);
    }
    return count;
}

CUresult watch_glance(unsigned int op, CUresult result)
{
    struct thread_counts *counts = my_counts();
    if (counts)
        count_call(counts, op, result);
    return result;
}

CUresult watch_call(unsigned int op, uint64_t began, CUresult result)
{
    struct thread_counts *counts = my_counts();
    if (!counts)
        return result;
    uint64_t ended = stopwatch_ns(), ns = ended - began;
    struct call_count *count = count_call(counts, op, result);
    count_add(&count->ns, ns);
    count_add(&count->answers, counts->answers);
    counts->answers = 0;
    if (ns > count_read(&count->longest_ns))
        atomic_store_explicit(&count->longest_ns, ns, memory_order_relaxed);
    void (*called)(const struct profiler_call *) =
        atomic_load_explicit(&watch.called, memory_order_relaxed);
    if (called && watch_number)
        called(&(struct profiler_call){.name = cuda_op_name(op),
                                       .number = watch_number,
                                       .result = result,
                                       .began = began,
                                       .ended = ended,
                                       .pageable = counts->now.pageable});
    if (watch.timeline)
        watch_add_call(counts, op, began, ended, result);
    else
        counts->now.pageable = false;
    watch_number = 0;
    return result;
}

void watch_waited(enum watch_wait reason, uint64_t began)
{
    struct thread_counts *counts = my_counts();
    if (!counts)
        return;
    uint64_t ended = stopwatch_ns(), ns = ended - began;
    if (ns < NO_WAIT_NS)
        return;
    struct wait_count *count = &counts->waits[reason];
    count_add(&count->waits, 1);
    counts->answers += reason == WATCH_WAIT_ANSWER;
    count_add(&count->ns, ns);
    if (!count_read(&count->shortest_ns) || ns < count_read(&count->shortest_ns))
        atomic_store_explicit(&count->shortest_ns, ns ? ns : 1, memory_order_relaxed);
    if (watch.timeline)
        watch_add_event(counts, &(struct timeline_event){
                                    .began = began, .ended = ended, .wait = (uint16_t)reason});
}

void watch_bytes(enum watch_direction direction, size_t size, bool locked)
{
    struct thread_counts *counts = my_counts();
    if (!counts)
        return;
    count_add(&counts->copied[direction].copies, 1);
    count_add(&counts->copied[direction].bytes, size);
    counts->now.bytes += size;
    counts->now.pageable |= !locked;
}

void watch_kernel(const char *name, const CUlaunchConfig *config)
{
    struct thread_counts *counts = watch.timeline ? my_counts() : NULL;
    if (!counts)
        return;
    struct timeline_event *now = &counts->now;
    if (!name || !*name)
        name = "(kernel without a name)";
    if (!memccpy(now->kernel, name, 0, sizeof(now->kernel)))
        now->kernel[sizeof(now->kernel) - 1] = 0;
    now->grid[0] = config->gridDimX;
    now->grid[1] = config->gridDimY;
    now->grid[2] = config->gridDimZ;
    now->block[0] = config->blockDimX;
    now->block[1] = config->blockDimY;
    now->block[2] = config->blockDimZ;
}

void watch_describe(void (*describe)(FILE *out))
{
    watch.describe = describe;
}

void watch_abandon(void)
{
    atomic_store(&watch_on, false);
}

uint64_t watch_enter(void)
{
    if (mine)
        mine->answers = 0; // those of a page fault or a host function belong to no call
    watch_number = atomic_load_explicit(&watch.numbered, memory_order_relaxed)
                       ? atomic_fetch_add_explicit(&watch.next_number, 1, memory_order_relaxed)
                       : 0;
    return stopwatch_ns();
}

static void watch_make_key(void)
{
    watch.has_key = pthread_key_create(&watch.key, watch_thread_ends) == 0;
}

// Turns watching on if anything needs it, else off.
static void watch_turn(void)
{
    bool wanted = watch.summary || watch.timeline || watch.failures ||
                  atomic_load(&watch.numbered) || atomic_load(&watch.called);
    if (wanted)
        pthread_once(&watch.once, watch_make_key);
    atomic_store(&watch_on, wanted && watch.has_key);
}

void watch_number_calls(bool numbered)
{
    atomic_store(&watch.numbered, numbered);
    watch_turn();
}

void watch_calls(void (*called)(const struct profiler_call *call))
{
    atomic_store(&watch.called, called);
    watch_turn();
}

bool watch_has_timeline(void)
{
    return watch.timeline;
}

static bool watch_is_set(const char *variable)
{
    const char *text = secure_getenv(variable);
    return text && *text && strcmp(text, "0") != 0;
}

__attribute__((constructor)) static void watch_start(void)
{
    watch.began = clock_ns();
    watch.summary = watch_is_set("RGPU_STATS");
    const char *level = secure_getenv("RGPU_LOG");
    enum log_level wanted;
    watch.failures = level && log_level_parse(level, &wanted) == 0 && wanted >= LOG_LEVEL_DEBUG;
    if (watch_is_set("RGPU_TRACE"))
        watch.timeline = timeline_open(secure_getenv("RGPU_TRACE"));
    watch_turn();
}

__attribute__((destructor)) static void watch_end(void)
{
    if (!watching())
        return;
    atomic_store(&watch_on, false);
    pthread_key_delete(watch.key);
    struct thread_counts *threads = atomic_load(&watch.threads);
    if (watch.timeline)
        timeline_close(threads);
    if (!watch.summary || !threads)
        return;
    // One write, so that the summaries of a job's processes do not mix.
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    summary_write(out, threads, watch.began);
    if (watch.describe)
        watch.describe(out);
    if (fclose(out) == 0)
        fwrite(text, 1, size, stderr);
    free(text);
}
