// SPDX-License-Identifier: BSD-3-Clause
// See gpu_work.h. Records have times of the box's clock. Its offset to this process's clock is
// measured at the beginning and at each fetch, by the quickest of a few exchanges, and interpolated
// between two such points.
#include "client-lib/cuda/session/gpu_work.h"

#include <search.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/report/tell.h"
#include "client-lib/cuda/report/timeline.h"
#include "client-lib/cuda/report/watch.h"
#include "client-lib/cuda/session/box_session.h"
#include "client-lib/cuda/session/process.h"
#include "client-lib/cuda/session/send.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "cuda_ops.h"

enum { FETCH_BYTES = 60 * 1024, EXCHANGES = 8, NAMES_MAX = 1 << 14 };

// The time of a box's clock, and the difference of our clock to it.
struct clock_point {
    uint64_t box;
    int64_t offset;
};

struct box_work {
    bool on;
    struct clock_point before, now;
    const char *names[NAMES_MAX]; // indexed by the box's numbers
    uint64_t dropped;
};

static struct {
    pthread_mutex_t lock;
    struct profiler_listener *first;
    struct box_work *boxes[SESSIONS_MAX];
    void *names; // a tree of all names that were ever reported, since listeners keep pointers to
                 // them
    _Alignas(8) uint8_t records[FETCH_BYTES];
} work = {.lock = PTHREAD_MUTEX_INITIALIZER};

// ---- the library's own requests, which the program does not notice ----

static CUresult gpu_work_ask(struct box_session *session, uint16_t op, const void *args,
                             size_t size, struct waiter *waiter)
{
    CUresult result;
    struct wire_request *record = session_reserve(session, op, 0, size, &result);
    if (!record)
        return result;
    record->traced_call = 0;
    if (size)
        memcpy(record + 1, args, size);
    return session_ask(session, record, waiter) ? waiter->result : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult ask_clock(struct box_session *session, uint64_t *now)
{
    struct reply_activity_clock reply;
    struct waiter waiter = {.reply = &reply, .reply_size = sizeof(reply)};
    CUresult result = gpu_work_ask(session, OP_activity_clock, NULL, 0, &waiter);
    if (result == CUDA_SUCCESS)
        *now = reply.now;
    return result;
}

// ---- clocks ----

// Clocks that differ by less than the time of the exchange count as one clock; on one host they
// are.
static void compare_clocks(struct box_session *session, struct clock_point *out)
{
    uint64_t quickest = UINT64_MAX;
    for (int i = 0; i < EXCHANGES; i++) {
        uint64_t began = clock_ns(), box;
        if (ask_clock(session, &box) != CUDA_SUCCESS)
            return;
        uint64_t took = clock_ns() - began;
        if (took >= quickest)
            continue;
        quickest = took;
        int64_t offset = (int64_t)(began + took / 2 - box);
        bool same = offset < (int64_t)took && -offset < (int64_t)took;
        *out = (struct clock_point){.box = box, .offset = same ? 0 : offset};
    }
}

static uint64_t our_time(const struct box_work *box, uint64_t time)
{
    int64_t span = (int64_t)(box->now.box - box->before.box);
    int64_t change = box->now.offset - box->before.offset;
    int64_t since = (int64_t)(time - box->before.box);
    if (!change || span <= 0)
        return time + (uint64_t)box->now.offset;
    since = since < 0 ? 0 : since > span ? span : since;
    return time + (uint64_t)box->before.offset +
           (uint64_t)(int64_t)((double)change * (double)since / (double)span);
}

// ---- records; under the lock ----

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

// Returns a copy of the name that stays valid until the process ends.
static const char *kept_text(const char *text)
{
    void *known = tfind(text, &work.names, compare_names);
    if (known)
        return *(const char **)known;
    char *copy = strdup(text);
    if (!copy || !tsearch(copy, &work.names, compare_names)) {
        free(copy);
        return NULL;
    }
    return copy;
}

static bool take_name(struct box_work *box, const struct wire_activity_name *name)
{
    if (name->size <= sizeof(*name) || !memchr(name->text, 0, name->size - sizeof(*name)) ||
        name->name >= NAMES_MAX)
        return false;
    box->names[name->name] = kept_text(name->text);
    return true;
}

static bool take_work(struct box_session *session, struct box_work *box,
                      const struct wire_activity *from)
{
    struct wire_activity reported = *from;
    const char *name = NULL;
    CUdevice device = session_shown(session, from->device);
    if (from->size != sizeof(*from) || device == CU_DEVICE_INVALID || from->name >= NAMES_MAX)
        return false;
    if (from->kind == WIRE_ACTIVITY_KERNEL)
        name = from->name && box->names[from->name] ? box->names[from->name] : "";
    reported.start = our_time(box, from->start);
    reported.end = our_time(box, from->end);
    reported.device = (uint32_t)device;
    for (struct profiler_listener *at = work.first; at; at = at->next)
        at->worked(at->argument, &reported, name);
    return true;
}

// Returns false if the box's data make no sense.
static bool take_records(struct box_session *session, struct box_work *box, size_t size)
{
    for (size_t at = 0; at < size;) {
        const struct wire_activity *record = (const void *)(work.records + at);
        bool good = false;
        if (size - at < sizeof(struct wire_activity_name) || record->size < 8 || record->size % 8 ||
            record->size > size - at)
            return false;
        switch (record->kind) {
        case WIRE_ACTIVITY_NAME:
            good = take_name(box, (const struct wire_activity_name *)(const void *)record);
            break;
        case WIRE_ACTIVITY_KERNEL:
        case WIRE_ACTIVITY_COPY:
        case WIRE_ACTIVITY_SET: good = take_work(session, box, record); break;
        }
        if (!good)
            return false;
        at += record->size;
    }
    return true;
}

static void gpu_work_fetch(struct box_session *session, struct box_work *box)
{
    struct args_activity_fetch args = {.flush = 1, .reply_room = FETCH_BYTES};
    struct reply_activity_fetch reply;
    size_t got;
    if (box->now.offset) { // otherwise there is one clock for both
        box->before = box->now;
        compare_clocks(session, &box->now);
    }
    do {
        struct waiter waiter = {.reply = &reply,
                                .reply_size = sizeof(reply),
                                .bytes = work.records,
                                .bytes_room = sizeof(work.records)};
        if (gpu_work_ask(session, OP_activity_fetch, &args, sizeof(args), &waiter) != CUDA_SUCCESS)
            return;
        box->dropped = reply.dropped;
        if (!take_records(session, box, waiter.bytes_used)) {
            log_warn("box tells of its gpu's work what makes no sense box=%s", session->box);
            return;
        }
        args.flush = 0;
        got = waiter.bytes_used;
    } while (reply.left && got);
}

// ---- on and off; under the lock ----

static void gpu_work_begin(struct box_session *session, struct box_work **box)
{
    struct waiter waiter = {0};
    if (!*box)
        *box = calloc(1, sizeof(**box));
    if (!*box || (*box)->on)
        return;
    CUresult result = session_knows(session, OP_activity_begin)
                          ? gpu_work_ask(session, OP_activity_begin, NULL, 0, &waiter)
                          : CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_ERROR_NOT_SUPPORTED)
        tell_once(
            "box %s cannot say what its GPU does when, as it has no CUPTI: profilers see no kernels there; "
            "its administrator can install it (cupti in rgpud.conf)",
            session->box);
    if (result != CUDA_SUCCESS)
        return;
    memset((*box)->names, 0, sizeof((*box)->names));
    (*box)->on = true;
    (*box)->dropped = 0;
    compare_clocks(session, &(*box)->now);
    (*box)->before = (*box)->now;
}

static void gpu_work_end(struct box_session *session, struct box_work *box)
{
    struct waiter waiter = {0};
    if (!box || !box->on)
        return;
    box->on = false;
    if (gpu_work_ask(session, OP_activity_end, NULL, 0, &waiter) != CUDA_SUCCESS)
        log_debug("box goes on noting its gpu's work box=%s", session->box);
}

// Returns how many records have been lost so far.
static uint64_t collect_all(void)
{
    uint64_t dropped = 0;
    for (unsigned int i = 0; process_ready() == CUDA_SUCCESS && i < session_count; i++) {
        struct box_work *box = work.boxes[i];
        if (!box || !box->on)
            continue;
        if (session_lost(sessions[i]) == CUDA_SUCCESS)
            gpu_work_fetch(sessions[i], box);
        dropped += box->dropped;
    }
    return dropped;
}

static void gpu_work_begin_all(void)
{
    for (unsigned int i = 0; work.first && i < session_count; i++)
        if (session_lost(sessions[i]) == CUDA_SUCCESS)
            gpu_work_begin(sessions[i], &work.boxes[i]);
}

void gpu_work_opened(void)
{
    static struct profiler_listener timeline = {.worked = timeline_worked};
    static atomic_flag opened = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&opened))
        return;
    if (watch_has_timeline()) {
        timeline_collects(gpu_work_collect);
        gpu_work_join(&timeline);
        return;
    }
    SCOPED_LOCK(&work.lock);
    gpu_work_begin_all();
}

void gpu_work_join(struct profiler_listener *listener)
{
    SCOPED_LOCK(&work.lock);
    collect_all(); // earlier records are for earlier listeners
    listener->next = work.first;
    work.first = listener;
    watch_number_calls(true);
    if (process_ready() == CUDA_SUCCESS)
        gpu_work_begin_all();
}

void gpu_work_leave(struct profiler_listener *listener)
{
    SCOPED_LOCK(&work.lock);
    struct profiler_listener **at = &work.first;
    while (*at && *at != listener)
        at = &(*at)->next;
    if (*at)
        *at = listener->next;
    if (work.first)
        return;
    watch_number_calls(false);
    for (unsigned int i = 0; process_ready() == CUDA_SUCCESS && i < session_count; i++)
        if (session_lost(sessions[i]) == CUDA_SUCCESS)
            gpu_work_end(sessions[i], work.boxes[i]);
}

uint64_t gpu_work_collect(void)
{
    SCOPED_LOCK(&work.lock);
    return collect_all();
}
