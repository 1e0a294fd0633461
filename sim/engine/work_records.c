// SPDX-License-Identifier: BSD-3-Clause
// Implements the CUPTI functions for activity records that a worker calls: selection of record
// kinds, a callback for each call, and buffers. The caller provides buffers and receives them back
// when they are full or flushed.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/scope.h"
#include "proto/cupti_abi.h"
#include "sim/engine/work_notes.h"

atomic_ullong work_kinds;

static struct {
    pthread_mutex_t lock;
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    CUpti_TimestampCallbackFunc now;
    uint8_t *buffer;
    size_t size, used;
    size_t dropped;
} records = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_uint next_correlation = 1;

// The only subscriber. It is called for each call that submits GPU work.
static struct work_subscriber {
    CUpti_CallbackFunc function;
    void *argument;
    atomic_bool called;
} subscriber;
enum { ANY_CALL = 1 };

static bool work_records_wants(uint32_t kind)
{
    return atomic_load_explicit(&work_kinds, memory_order_relaxed) >> kind & 1;
}

// ---- buffers ----

// Returns the buffer to the caller. Called under the lock, which it releases during the callback.
static void work_records_give_back(void)
{
    uint8_t *buffer = records.buffer;
    size_t size = records.size, used = records.used;
    records.buffer = NULL;
    records.used = records.size = 0;
    if (!buffer)
        return;
    pthread_mutex_unlock(&records.lock);
    records.complete(NULL, 0, buffer, size, used);
    pthread_mutex_lock(&records.lock);
}

static void work_records_add(const void *record, size_t size)
{
    SCOPED_LOCK(&records.lock);
    if (records.buffer && records.size - records.used < size)
        work_records_give_back();
    if (!records.buffer && records.request) {
        size_t most = 0;
        records.request(&records.buffer, &records.size, &most);
    }
    if (!records.buffer || records.size - records.used < size) {
        records.dropped++;
        return;
    }
    memcpy(records.buffer + records.used, record, size);
    records.used += size;
}

static size_t work_records_size_of(uint32_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(struct cupti_kernel);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(struct cupti_copy_record);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(struct cupti_set_record);
    }
    return 0;
}

// ---- records ----

uint64_t work_now(void)
{
    return records.now ? records.now() : clock_ns();
}

uint32_t work_correlation(void)
{
    uint32_t number = atomic_fetch_add(&next_correlation, 1);
    if (atomic_load(&subscriber.called)) {
        struct cupti_call_data data = {.site = CUPTI_API_ENTER,
                                       .function = "cuLaunchKernel",
                                       .correlation = number};
        subscriber.function(subscriber.argument, CUPTI_CB_DOMAIN_DRIVER_API, ANY_CALL, &data);
    }
    return number;
}

// Returns a permanent copy of a kernel's name, since records outlive modules.
static const char *kept_name(const char *name)
{
    static struct kept {
        struct kept *next;
        char text[];
    } * names;
    SCOPED_LOCK(&records.lock);
    for (struct kept *at = names; at; at = at->next)
        if (!strcmp(at->text, name))
            return at->text;
    struct kept *kept = malloc(sizeof(*kept) + strlen(name) + 1);
    if (!kept)
        return "";
    strcpy(kept->text, name);
    kept->next = names;
    names = kept;
    return kept->text;
}

static void work_records_add_kernel(const struct work_note *note, const struct work_place *at,
                                    uint32_t correlation, uint64_t began, uint64_t ended)
{
    struct cupti_kernel record = {
        .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        .registers = (uint16_t)note->registers,
        .start = began,
        .end = ended,
        .device = at->device,
        .context = at->context,
        .stream = at->stream,
        .grid = {(int32_t)note->grid[0], (int32_t)note->grid[1], (int32_t)note->grid[2]},
        .block = {(int32_t)note->block[0], (int32_t)note->block[1], (int32_t)note->block[2]},
        .static_shared = (int32_t)note->static_shared,
        .dynamic_shared = (int32_t)note->dynamic_shared,
        .local_per_thread = note->local_bytes,
        .correlation = correlation,
        .name = kept_name(note->name),
    };
    work_records_add(&record, sizeof(record));
}

static void add_copy(const struct work_note *note, const struct work_place *at,
                     uint32_t correlation, uint64_t began, uint64_t ended)
{
    struct cupti_copy_record record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
        .copy = note->copy,
        .from = note->from,
        .to = note->to,
        .flags = CUPTI_FLAG_ASYNC,
        .bytes = note->bytes,
        .start = began,
        .end = ended,
        .device = at->device,
        .context = at->context,
        .stream = at->stream,
        .correlation = correlation,
    };
    work_records_add(&record, sizeof(record));
}

static void add_set(const struct work_note *note, const struct work_place *at, uint32_t correlation,
                    uint64_t began, uint64_t ended)
{
    struct cupti_set_record record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMSET,
        .value = note->value,
        .bytes = note->bytes,
        .start = began,
        .end = ended,
        .device = at->device,
        .context = at->context,
        .stream = at->stream,
        .correlation = correlation,
        .flags = CUPTI_FLAG_ASYNC,
        .memory = CUPTI_MEMORY_DEVICE,
    };
    work_records_add(&record, sizeof(record));
}

void work_done(const struct work_note *note, const struct work_place *place, uint32_t correlation,
               uint64_t began)
{
    uint64_t ended = work_now();
    if (!note->kind || !work_records_wants(note->kind))
        return;
    switch (note->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        work_records_add_kernel(note, place, correlation, began, ended);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: add_copy(note, place, correlation, began, ended); break;
    case CUPTI_ACTIVITY_KIND_MEMSET: add_set(note, place, correlation, began, ended); break;
    }
}

// ---- exported functions ----

CUPTI_API(cuptiActivityRegisterCallbacks, CUpti_BuffersCallbackRequestFunc request,
          CUpti_BuffersCallbackCompleteFunc complete)
{
    if (!request || !complete)
        return CUPTI_ERROR_INVALID_PARAMETER;
    SCOPED_LOCK(&records.lock);
    records.request = request;
    records.complete = complete;
    return CUPTI_SUCCESS;
}

CUPTI_API(cuptiActivityRegisterTimestampCallback, CUpti_TimestampCallbackFunc now)
{
    records.now = now;
    return CUPTI_SUCCESS;
}

static bool work_records_is_known(uint32_t kind)
{
    return work_records_size_of(kind) || kind == CUPTI_ACTIVITY_KIND_MEMCPY2;
}

CUPTI_API(cuptiActivityEnable, CUpti_ActivityKind kind)
{
    if (!work_records_is_known(kind))
        return CUPTI_ERROR_INVALID_KIND;
    atomic_fetch_or(&work_kinds, 1ULL << kind);
    return CUPTI_SUCCESS;
}

CUPTI_API(cuptiActivityDisable, CUpti_ActivityKind kind)
{
    if (!work_records_is_known(kind))
        return CUPTI_ERROR_INVALID_KIND;
    atomic_fetch_and(&work_kinds, ~(1ULL << kind));
    return CUPTI_SUCCESS;
}

CUPTI_API(cuptiActivityFlushAll, uint32_t flags)
{
    SCOPED_LOCK(&records.lock);
    work_records_give_back();
    return CUPTI_SUCCESS;
}

CUPTI_API(cuptiActivityGetNextRecord, uint8_t *buffer, size_t valid, struct cupti_record **record)
{
    if (!buffer || !record)
        return CUPTI_ERROR_INVALID_PARAMETER;
    uint8_t *next = *record ? (uint8_t *)*record + work_records_size_of((*record)->kind) : buffer;
    if (next >= buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (struct cupti_record *)(void *)next;
    return CUPTI_SUCCESS;
}

CUPTI_API(cuptiActivityGetNumDroppedRecords, CUcontext context, uint32_t stream, size_t *dropped)
{
    if (!dropped)
        return CUPTI_ERROR_INVALID_PARAMETER;
    SCOPED_LOCK(&records.lock);
    *dropped = records.dropped;
    records.dropped = 0;
    return CUPTI_SUCCESS;
}

CUPTI_API(cuptiSubscribe, struct work_subscriber **out, CUpti_CallbackFunc function, void *argument)
{
    if (!out || !function)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (subscriber.function)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    subscriber.argument = argument;
    subscriber.function = function;
    *out = &subscriber;
    return CUPTI_SUCCESS;
}

CUPTI_API(cuptiEnableCallback, uint32_t enable, struct work_subscriber *who,
          CUpti_CallbackDomain domain, uint32_t call)
{
    if (who != &subscriber || domain != CUPTI_CB_DOMAIN_DRIVER_API || call != ANY_CALL)
        return CUPTI_ERROR_INVALID_PARAMETER;
    atomic_store(&subscriber.called, enable != 0);
    return CUPTI_SUCCESS;
}

CUPTI_API(cuptiGetCallbackName, CUpti_CallbackDomain domain, uint32_t call, const char **name)
{
    if (!name || domain != CUPTI_CB_DOMAIN_DRIVER_API || call != ANY_CALL)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = "cuLaunchKernel";
    return CUPTI_SUCCESS;
}
