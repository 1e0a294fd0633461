// SPDX-License-Identifier: BSD-3-Clause
// See cupti_records.h.
#include "client-lib/cupti/cupti_records.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/scope.h"

enum {
    SAMPLES = 5,
    PIECES = 1 << 16,    // copies whose pieces are joined
    PAGEABLE = 1 << 16,  // limit of remembered calls
    DELIVER_AT = 1 << 18 // entries; at this number records are delivered without a request of the
                         // program
};

// The times of both clocks at one moment.
struct moment {
    uint64_t ours, theirs;
};

struct call_entry {
    uint32_t kind, number, correlation, thread, result;
    uint32_t external_kinds;
    uint64_t began, ended;
    uint64_t externals[CUPTI_EXTERNAL_KINDS];
};
struct work_entry {
    struct wire_activity work;
    const char *name;
};

static struct {
    pthread_mutex_t lock; // recursive: the callback that gets a buffer back may query the losses
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    CUpti_TimestampCallbackFunc now;
    struct moment first, last;
    struct call_entry *calls;
    size_t call_count, call_room;
    struct work_entry *work;
    size_t work_count, work_room;
    uint8_t *buffer;
    size_t size, used, most, count;
    uint64_t lost;
} records = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};

// Indexed by the number of a call: the index of its copy in the work, plus one; and the calls whose
// memory was pageable.
static uint32_t pieces[PIECES], pageable[PAGEABLE];

// ---- clocks ----

uint64_t records_now(void)
{
    return records.now ? records.now() : clock_read_ns(CLOCK_REALTIME);
}

static struct moment look_at_clocks(void)
{
    struct moment best = {0};
    uint64_t quickest = UINT64_MAX;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t before = clock_ns();
        uint64_t theirs = records_now();
        uint64_t took = clock_ns() - before;
        if (took < quickest)
            best = (struct moment){.ours = before + took / 2, .theirs = theirs};
        if (took < quickest)
            quickest = took;
    }
    return best;
}

void records_mark_time(void)
{
    SCOPED_LOCK(&records.lock);
    records.first = look_at_clocks();
}

// The program's clock may use any unit, such as ticks of the processor, if it is steady.
static uint64_t their_time(uint64_t ours)
{
    double span = (double)(records.last.ours - records.first.ours);
    double rate = span > 0 ? (double)(records.last.theirs - records.first.theirs) / span : 1.0;
    double since = (double)(int64_t)(ours - records.first.ours);
    return records.first.theirs + (uint64_t)(int64_t)(since * rate);
}

// ---- adding records ----

// Makes space for one more entry of SIZE bytes in *LIST. False: no memory. The caller holds the
// lock.
static bool cupti_records_grow(void **list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room ? *room * 2 : 1024;
    void *bigger = realloc(*list, more * size);
    if (!bigger)
        return false;
    *list = bigger;
    *room = more;
    return true;
}

// Holds one of the program's buffers while there are records, as NVIDIA's library does, because
// programs check that before a flush. The caller holds the lock.
static void hold_buffer(void)
{
    if (!records.buffer && records.request && records.complete)
        records.request(&records.buffer, &records.size, &records.most);
}

void records_note_pageable(uint32_t call)
{
    __atomic_store_n(&pageable[call % PAGEABLE], call, __ATOMIC_RELAXED);
}

static bool cupti_records_add_call(uint32_t kind, uint32_t number, const struct profiler_call *call,
                                   uint32_t external_kinds, const uint64_t *externals)
{
    SCOPED_LOCK(&records.lock);
    if (!cupti_records_grow((void **)&records.calls, records.call_count, &records.call_room,
                            sizeof(*records.calls))) {
        records.lost++;
        return false;
    }
    hold_buffer();
    struct call_entry *entry = &records.calls[records.call_count++];
    *entry = (struct call_entry){
        .kind = kind,
        .number = number,
        .correlation = call->number,
        .thread = (uint32_t)syscall(SYS_gettid),
        .result = (uint32_t)call->result,
        .external_kinds = external_kinds,
        .began = call->began,
        .ended = call->ended,
    };
    for (int i = 0; i < CUPTI_EXTERNAL_KINDS; i++)
        if (external_kinds >> i & 1)
            entry->externals[i] = externals[i];
    return records.call_count >= DELIVER_AT;
}

void records_add_call(uint32_t kind, uint32_t number, const struct profiler_call *call,
                      uint32_t external_kinds, const uint64_t *externals)
{
    if (cupti_records_add_call(kind, number, call, external_kinds, externals))
        records_deliver();
}

// Returns the copy of which WORK is a further piece; NULL: it is the first piece. The caller holds
// the lock.
static struct work_entry *cupti_records_piece_of(const struct wire_activity *work)
{
    uint32_t place = pieces[work->correlation % PIECES];
    if (work->kind != WIRE_ACTIVITY_COPY || !work->correlation || work->graph || !place ||
        place > records.work_count)
        return NULL;
    struct work_entry *entry = &records.work[place - 1];
    bool same = entry->work.kind == work->kind && !entry->work.graph &&
                entry->work.correlation == work->correlation && entry->work.copy == work->copy &&
                entry->work.device == work->device;
    return same ? entry : NULL;
}

void records_add_work(const struct wire_activity *work, const char *name)
{
    SCOPED_LOCK(&records.lock);
    struct work_entry *whole = cupti_records_piece_of(work);
    if (whole) {
        whole->work.move.bytes += work->move.bytes;
        if (work->start < whole->work.start)
            whole->work.start = work->start;
        if (work->end > whole->work.end)
            whole->work.end = work->end;
        return;
    }
    if (!cupti_records_grow((void **)&records.work, records.work_count, &records.work_room,
                            sizeof(*records.work))) {
        records.lost++;
        return;
    }
    hold_buffer();
    records.work[records.work_count++] = (struct work_entry){.work = *work, .name = name};
    if (work->kind == WIRE_ACTIVITY_COPY && work->correlation)
        pieces[work->correlation % PIECES] = (uint32_t)records.work_count;
}

// ---- the program's buffers; under the lock ----

void records_deliver_to(CUpti_BuffersCallbackRequestFunc request,
                        CUpti_BuffersCallbackCompleteFunc complete)
{
    SCOPED_LOCK(&records.lock);
    records.request = request;
    records.complete = complete;
}

void records_reckon_by(CUpti_TimestampCallbackFunc now)
{
    records.now = now;
    records_mark_time();
}

static void cupti_records_give_back(void)
{
    if (records.buffer)
        records.complete(NULL, 0, records.buffer, records.size, records.used);
    records.buffer = NULL;
    records.size = records.used = records.count = 0;
}

static bool cupti_records_has_room(size_t size)
{
    return records.buffer && records.size - records.used >= size &&
           (!records.most || records.count < records.most);
}

// The members that all kinds of records have, at different offsets.
// clang-format off
#define WHEN_AND_WHERE_OF(work) \
    .start = their_time((work)->start), .end = their_time((work)->end), .device = (work)->device, \
    .context = (work)->context, .stream = (work)->stream, .correlation = (work)->correlation, \
    .graph_node = (work)->graph_node, .graph = (work)->graph
// clang-format on

static void write_record(const void *record, size_t size)
{
    if (!cupti_records_has_room(size)) {
        cupti_records_give_back();
        records.request(&records.buffer, &records.size, &records.most);
    }
    if (!cupti_records_has_room(size)) {
        records.lost++;
        return;
    }
    memcpy(records.buffer + records.used, record, size);
    records.used += size;
    records.count++;
}

static void write_call(const struct call_entry *entry)
{
    for (uint32_t kind = 0; kind < CUPTI_EXTERNAL_KINDS; kind++) {
        struct cupti_external_record record = {
            .kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
            .external_kind = kind,
            .external = entry->externals[kind],
            .correlation = entry->correlation,
        };
        if (entry->external_kinds >> kind & 1)
            write_record(&record, sizeof(record));
    }
    struct cupti_call_record record = {
        .kind = entry->kind,
        .call = entry->number,
        .start = their_time(entry->began),
        .end = their_time(entry->ended),
        .process = (uint32_t)getpid(),
        .thread = entry->thread,
        .correlation = entry->correlation,
        .result = entry->result,
    };
    write_record(&record, sizeof(record));
}

static void cupti_records_write_kernel(const struct work_entry *entry)
{
    const struct wire_activity *work = &entry->work;
    struct cupti_kernel record = {
        .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        .registers = (uint16_t)work->kernel.registers,
        WHEN_AND_WHERE_OF(work),
        .completed = their_time(work->end),
        .static_shared = (int32_t)work->kernel.static_shared,
        .dynamic_shared = (int32_t)work->kernel.dynamic_shared,
        .local_per_thread = work->kernel.local_bytes,
        .name = entry->name,
    };
    for (int i = 0; i < 3; i++) {
        record.grid[i] = (int32_t)work->kernel.grid[i];
        record.block[i] = (int32_t)work->kernel.block[i];
    }
    write_record(&record, sizeof(record));
}

// Returns the kind of memory that the program copied from or to, if the box used memory of its own.
static uint8_t host_memory(const struct wire_activity *work, uint8_t memory)
{
    uint32_t noted = __atomic_load_n(&pageable[work->correlation % PAGEABLE], __ATOMIC_RELAXED);
    bool of_host = memory == CUPTI_MEMORY_PINNED || memory == CUPTI_MEMORY_PAGEABLE;
    if (!of_host || work->graph)
        return memory;
    return work->correlation && noted == work->correlation ? CUPTI_MEMORY_PAGEABLE
                                                           : CUPTI_MEMORY_PINNED;
}

static void cupti_records_write_copy(const struct wire_activity *work)
{
    struct cupti_copy_record record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
        .copy = work->copy,
        .from = host_memory(work, work->from),
        .to = host_memory(work, work->to),
        .flags = work->flags & WIRE_ACTIVITY_ASYNC ? CUPTI_FLAG_ASYNC : 0,
        .bytes = work->move.bytes,
        WHEN_AND_WHERE_OF(work),
        .count = 1,
    };
    write_record(&record, sizeof(record));
}

static void write_peer_copy(const struct wire_activity *work)
{
    struct cupti_peer_copy_record record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
        .copy = work->copy,
        .from = work->from,
        .to = work->to,
        .flags = work->flags & WIRE_ACTIVITY_ASYNC ? CUPTI_FLAG_ASYNC : 0,
        .bytes = work->move.bytes,
        WHEN_AND_WHERE_OF(work),
        .from_gpu = work->move.from_gpu,
        .from_context = work->move.from_context,
        .to_gpu = work->move.to_gpu,
        .to_context = work->move.to_context,
    };
    write_record(&record, sizeof(record));
}

static void write_set(const struct wire_activity *work)
{
    struct cupti_set_record record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMSET,
        .value = work->move.value,
        .bytes = work->move.bytes,
        WHEN_AND_WHERE_OF(work),
        .flags = work->flags & WIRE_ACTIVITY_ASYNC ? CUPTI_FLAG_ASYNC : 0,
        .memory = work->to,
    };
    write_record(&record, sizeof(record));
}

static void write_work(const struct work_entry *entry)
{
    switch ((enum wire_activity_kind)entry->work.kind) {
    case WIRE_ACTIVITY_KERNEL: cupti_records_write_kernel(entry); break;
    case WIRE_ACTIVITY_COPY:
        if (entry->work.copy == CUPTI_COPY_PTOP)
            write_peer_copy(&entry->work);
        else
            cupti_records_write_copy(&entry->work);
        break;
    case WIRE_ACTIVITY_SET: write_set(&entry->work); break;
    case WIRE_ACTIVITY_NAME: break;
    }
}

void records_deliver(void)
{
    SCOPED_LOCK(&records.lock);
    if (!records.request || !records.complete)
        return;
    records.last = look_at_clocks();
    for (size_t i = 0; i < records.call_count; i++)
        write_call(&records.calls[i]);
    for (size_t i = 0; i < records.work_count; i++)
        write_work(&records.work[i]);
    records.call_count = records.work_count = 0;
    cupti_records_give_back();
}

void records_lost(uint64_t lost)
{
    SCOPED_LOCK(&records.lock);
    records.lost += lost;
}

uint64_t records_take_lost(void)
{
    SCOPED_LOCK(&records.lock);
    uint64_t lost = records.lost;
    records.lost = 0;
    return lost;
}
