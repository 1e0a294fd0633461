// SPDX-License-Identifier: BSD-3-Clause
// CUPTI's activity records: the kinds that the program enables, external correlation ids, and
// buffers of records. The boxes record their GPUs' work while a kind of that is enabled.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "client-lib/cupti/cupti_calls.h"
#include "client-lib/cupti/cupti_link.h"
#include "client-lib/cupti/cupti_records.h"
#include "common/base/scope.h"

enum { EXTERNAL_DEPTH = 256, CALL_NUMBERS = 1024, ATTRIBUTES = 16 };

static const uint64_t work_kinds = 1ULL << CUPTI_ACTIVITY_KIND_KERNEL |
                                   1ULL << CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL |
                                   1ULL << CUPTI_ACTIVITY_KIND_MEMCPY |
                                   1ULL << CUPTI_ACTIVITY_KIND_MEMCPY2 |
                                   1ULL << CUPTI_ACTIVITY_KIND_MEMSET;
// Records of overhead are never written, but programs may enable this kind without an error.
static const uint64_t other_kinds = 1ULL << CUPTI_ACTIVITY_KIND_DRIVER |
                                    1ULL << CUPTI_ACTIVITY_KIND_RUNTIME |
                                    1ULL << CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION |
                                    1ULL << CUPTI_ACTIVITY_KIND_OVERHEAD;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // held while kinds are enabled or disabled
static atomic_ullong kinds;
static bool joined;
static uint64_t lost_before; // the boxes' losses at the last query
// A bit for each call of which the program wants no records.
static atomic_ullong silent_driver[CALL_NUMBERS / 64], silent_runtime[CALL_NUMBERS / 64];
static uint64_t attributes[ATTRIBUTES];

// The external correlation ids that a thread has pushed, by their kind.
static _Thread_local struct {
    uint32_t depth[CUPTI_EXTERNAL_KINDS];
    uint64_t numbers[CUPTI_EXTERNAL_KINDS][EXTERNAL_DEPTH];
} * pushed;

static pthread_key_t pushed_key; // frees them when the thread ends
static pthread_once_t pushed_once = PTHREAD_ONCE_INIT;

static bool has_pushed_key;

static void make_pushed_key(void)
{
    has_pushed_key = pthread_key_create(&pushed_key, free) == 0;
}

static bool have_pushed(void)
{
    if (pushed)
        return true;
    pthread_once(&pushed_once, make_pushed_key);
    pushed = has_pushed_key ? calloc(1, sizeof(*pushed)) : NULL;
    if (pushed && pthread_setspecific(pushed_key, pushed)) {
        free(pushed);
        pushed = NULL;
    }
    return pushed;
}

static bool cupti_activity_wants(uint32_t kind)
{
    return atomic_load_explicit(&kinds, memory_order_relaxed) >> kind & 1;
}

// ---- events of libcuda ----

static uint32_t top_numbers(uint64_t *out)
{
    uint32_t found = 0;
    if (!pushed || !cupti_activity_wants(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
        return 0;
    for (uint32_t kind = 0; kind < CUPTI_EXTERNAL_KINDS; kind++) {
        uint32_t depth = pushed->depth[kind];
        if (!depth)
            continue;
        found |= 1u << kind;
        out[kind] = pushed->numbers[kind][depth - 1];
    }
    return found;
}

static bool cupti_activity_is_silent(const atomic_ullong *silent, uint32_t number)
{
    return number < CALL_NUMBERS &&
           (atomic_load_explicit(&silent[number / 64], memory_order_relaxed) >> number % 64 & 1);
}

static void call_ended(const struct profiler_call *call)
{
    uint64_t externals[CUPTI_EXTERNAL_KINDS];
    uint32_t number = 0, kind = 0;
    if (call->pageable)
        records_note_pageable(call->number);
    if (cupti_activity_wants(CUPTI_ACTIVITY_KIND_RUNTIME) &&
        (number = runtime_call_number(call->name)))
        kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    else if (cupti_activity_wants(CUPTI_ACTIVITY_KIND_DRIVER) &&
             (number = driver_call_number(call->name)))
        kind = CUPTI_ACTIVITY_KIND_DRIVER;
    if (!kind || cupti_activity_is_silent(
                     kind == CUPTI_ACTIVITY_KIND_DRIVER ? silent_driver : silent_runtime, number))
        return;
    uint32_t found = top_numbers(externals);
    records_add_call(kind, number, call, found, externals);
}

static bool wants_work(const struct wire_activity *work)
{
    switch ((enum wire_activity_kind)work->kind) {
    case WIRE_ACTIVITY_KERNEL:
        return cupti_activity_wants(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ||
               cupti_activity_wants(CUPTI_ACTIVITY_KIND_KERNEL);
    case WIRE_ACTIVITY_COPY:
        return cupti_activity_wants(work->copy == CUPTI_COPY_PTOP ? CUPTI_ACTIVITY_KIND_MEMCPY2
                                                                  : CUPTI_ACTIVITY_KIND_MEMCPY);
    case WIRE_ACTIVITY_SET: return cupti_activity_wants(CUPTI_ACTIVITY_KIND_MEMSET);
    case WIRE_ACTIVITY_NAME: break;
    }
    return false;
}

static void work_ended(void *unused, const struct wire_activity *work, const char *name)
{
    (void)unused;
    if (wants_work(work))
        records_add_work(work, name);
}

static struct profiler_listener listener = {.worked = work_ended};

// ---- on and off; under the lock ----

static void cupti_activity_collect(const struct profiler_table *table)
{
    uint64_t lost = table->collect();
    if (lost > lost_before)
        records_lost(lost - lost_before);
    lost_before = lost;
}

static void cupti_activity_turn(const struct profiler_table *table)
{
    uint64_t now = atomic_load(&kinds);
    bool join = now & work_kinds;
    if (join && !joined) {
        lost_before = 0;
        table->join(&listener);
    }
    if (!join && joined)
        table->leave(&listener);
    joined = join;
    table->watch(now ? call_ended : NULL);
}

static CUptiResult cupti_activity_enable(uint32_t kind, bool enabled)
{
    const struct profiler_table *table = cupti_link();
    if (!table)
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (!kind || kind >= CUPTI_ACTIVITY_KIND_COUNT)
        return CUPTI_ERROR_INVALID_KIND;
    if (!((work_kinds | other_kinds) >> kind & 1))
        return CUPTI_ERROR_NOT_SUPPORTED;
    SCOPED_LOCK(&lock);
    if (enabled && !atomic_load(&kinds))
        records_mark_time();
    if (enabled) {
        atomic_fetch_or(&kinds, 1ULL << kind);
    } else {
        // Work that has ended until now belongs to the program, although it disables its kind
        // before reading it.
        if (joined && work_kinds >> kind & 1)
            cupti_activity_collect(table);
        atomic_fetch_and(&kinds, ~(1ULL << kind));
    }
    cupti_activity_turn(table);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityEnable, CUpti_ActivityKind kind)
{
    return cupti_activity_enable(kind, true);
}

CUPTI_EXPORT(cuptiActivityDisable, CUpti_ActivityKind kind)
{
    return cupti_activity_enable(kind, false);
}

// Programs that ask for the records of one context get those of all contexts.
CUPTI_EXPORT(cuptiActivityEnableContext, CUcontext context, CUpti_ActivityKind kind)
{
    return cupti_activity_enable(kind, true);
}

CUPTI_EXPORT(cuptiActivityDisableContext, CUcontext context, CUpti_ActivityKind kind)
{
    return cupti_activity_enable(kind, false);
}

static CUptiResult silence(atomic_ullong *silent, uint32_t number, bool enabled)
{
    if (!number || number >= CALL_NUMBERS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (enabled)
        atomic_fetch_and(&silent[number / 64], ~(1ULL << number % 64));
    else
        atomic_fetch_or(&silent[number / 64], 1ULL << number % 64);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityEnableDriverApi, uint32_t call, uint8_t enabled)
{
    return silence(silent_driver, call, enabled);
}

CUPTI_EXPORT(cuptiActivityEnableRuntimeApi, uint32_t call, uint8_t enabled)
{
    return silence(silent_runtime, call, enabled);
}

// ---- buffers ----

CUPTI_EXPORT(cuptiActivityRegisterCallbacks, CUpti_BuffersCallbackRequestFunc request,
             CUpti_BuffersCallbackCompleteFunc complete)
{
    if (!request || !complete)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!cupti_link())
        return CUPTI_ERROR_NOT_INITIALIZED;
    records_deliver_to(request, complete);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityFlushAll, uint32_t flags)
{
    const struct profiler_table *table = cupti_link();
    if (!table)
        return CUPTI_ERROR_NOT_INITIALIZED;
    {
        SCOPED_LOCK(&lock);
        if (joined)
            cupti_activity_collect(table);
    }
    records_deliver();
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityFlush, CUcontext context, uint32_t stream, uint32_t flags)
{
    return cuptiActivityFlushAll(flags);
}

// Records are delivered when the program asks, or when there are many.
CUPTI_EXPORT(cuptiActivityFlushPeriod, uint32_t milliseconds)
{
    return milliseconds ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

static size_t cupti_activity_size_of(uint32_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(struct cupti_kernel);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(struct cupti_copy_record);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(struct cupti_peer_copy_record);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(struct cupti_set_record);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(struct cupti_call_record);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(struct cupti_external_record);
    }
    return 0;
}

CUPTI_EXPORT(cuptiActivityGetNextRecord, uint8_t *buffer, size_t valid,
             struct cupti_record **record)
{
    if (!buffer || !record)
        return CUPTI_ERROR_INVALID_PARAMETER;
    size_t at = 0;
    if (*record) {
        size_t size = cupti_activity_size_of((*record)->kind);
        at = (size_t)((uint8_t *)*record - buffer) + size;
        if (!size || at > valid)
            return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (at == valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    struct cupti_record *next = (struct cupti_record *)(void *)(buffer + at);
    if (valid - at < sizeof(*next) || !cupti_activity_size_of(next->kind) ||
        valid - at < cupti_activity_size_of(next->kind))
        return CUPTI_ERROR_INVALID_KIND;
    *record = next;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityGetNumDroppedRecords, CUcontext context, uint32_t stream, size_t *dropped)
{
    if (!dropped)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *dropped = records_take_lost();
    return CUPTI_SUCCESS;
}

// ---- external correlation ids ----

CUPTI_EXPORT(cuptiActivityPushExternalCorrelationId, uint32_t kind, uint64_t number)
{
    if (!kind || kind >= CUPTI_EXTERNAL_KINDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!have_pushed())
        return CUPTI_ERROR_OUT_OF_MEMORY;
    if (pushed->depth[kind] == EXTERNAL_DEPTH)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    pushed->numbers[kind][pushed->depth[kind]++] = number;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityPopExternalCorrelationId, uint32_t kind, uint64_t *last)
{
    if (!kind || kind >= CUPTI_EXTERNAL_KINDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!pushed || !pushed->depth[kind])
        return CUPTI_ERROR_QUEUE_EMPTY;
    uint64_t number = pushed->numbers[kind][--pushed->depth[kind]];
    if (last)
        *last = number;
    return CUPTI_SUCCESS;
}

// ---- clocks and attributes ----

CUPTI_EXPORT(cuptiActivityRegisterTimestampCallback, CUpti_TimestampCallbackFunc now)
{
    if (!now)
        return CUPTI_ERROR_INVALID_PARAMETER;
    records_reckon_by(now);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiGetTimestamp, uint64_t *timestamp)
{
    if (!timestamp)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *timestamp = records_now();
    return CUPTI_SUCCESS;
}

// Attributes such as the sizes of buffers on the GPU are kept but have no effect: the box manages
// its buffers.
static CUptiResult attribute_at(uint32_t attribute, const size_t *size, const void *value)
{
    if (attribute >= ATTRIBUTES || !size || !value || !*size || *size > sizeof(attributes[0]))
        return CUPTI_ERROR_INVALID_PARAMETER;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivitySetAttribute, uint32_t attribute, size_t *size, void *value)
{
    CUptiResult result = attribute_at(attribute, size, value);
    if (result != CUPTI_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    attributes[attribute] = 0;
    __builtin_memcpy(&attributes[attribute], value, *size);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityGetAttribute, uint32_t attribute, size_t *size, void *value)
{
    CUptiResult result = attribute_at(attribute, size, value);
    if (result != CUPTI_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    __builtin_memcpy(value, &attributes[attribute], *size);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiFinalize, void)
{
    const struct profiler_table *table = cupti_link();
    if (!table)
        return CUPTI_ERROR_NOT_INITIALIZED;
    SCOPED_LOCK(&lock);
    atomic_store(&kinds, 0);
    cupti_activity_turn(table);
    return CUPTI_SUCCESS;
}
