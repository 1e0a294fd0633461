// SPDX-License-Identifier: BSD-3-Clause
// A callback at the begin of each driver call that queues work reports the correlation id of the
// call's records, by which they are assigned to the program's call.
#include "daemon/worker/activity/cupti_source.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "proto/cupti_abi.h"
#include "daemon/worker/activity/activity.h"
#include "daemon/worker/activity/activity_store.h"
#include "daemon/worker/core/empty_kernel.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"

enum { BUFFER_BYTES = 1 << 20, CALLS_MAX = 4096 };

// The functions that are called, by name.
#define CUPTI_FUNCTIONS(X) \
    X(cuptiActivityRegisterCallbacks, \
      (CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc)) \
    X(cuptiActivityRegisterTimestampCallback, (CUpti_TimestampCallbackFunc)) \
    X(cuptiActivityEnable, (CUpti_ActivityKind)) \
    X(cuptiActivityDisable, (CUpti_ActivityKind)) \
    X(cuptiActivityFlushAll, (uint32_t)) \
    X(cuptiActivityGetNextRecord, (uint8_t *, size_t, struct cupti_record **)) \
    X(cuptiActivityGetNumDroppedRecords, (CUcontext, uint32_t, size_t *)) \
    X(cuptiSubscribe, (struct cupti_subscriber **, CUpti_CallbackFunc, void *)) \
    X(cuptiEnableCallback, (uint32_t, struct cupti_subscriber *, CUpti_CallbackDomain, uint32_t)) \
    X(cuptiGetCallbackName, (CUpti_CallbackDomain, uint32_t, const char **)) \
    X(cuptiGetStreamIdEx, (CUcontext, CUstream, uint8_t, uint32_t *)) \
    X(cuptiGetContextId, (CUcontext, uint32_t *))

static struct {
#define MEMBER(name, parameters) CUptiResult(*name) parameters;
    CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
} cupti;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // held by who starts and stops
static bool loaded, tried;
static struct cupti_subscriber *subscriber;

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

// ---- the library ----

static bool cupti_source_take_functions(void *library)
{
    const char *missing = NULL;
#define TAKE(name, parameters) \
    *(void **)&cupti.name = dlsym(library, #name); \
    if (!cupti.name) \
        missing = #name;
    CUPTI_FUNCTIONS(TAKE)
#undef TAKE
    if (missing)
        log_info("no cupti here, missing=%s", missing);
    return !missing;
}

// Not this project's own stand-in, which an inherited library path may lead to.
static bool take_library(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        log_info("cupti not loaded name=%s error=\"%s\"", name, dlerror());
        return false;
    }
    if (dlsym(library, "rgpu_cupti_marker") || !cupti_source_take_functions(library)) {
        dlclose(library);
        return false;
    }
    log_info("cupti loaded name=%s", name);
    return true;
}

static bool cupti_source_load(void)
{
    static const char *const usual[] = {
        "libcupti.so.13",
        "/usr/local/cuda/lib64/libcupti.so.13",
        "/usr/local/cuda/targets/x86_64-linux/lib/libcupti.so.13",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
        "libcupti.so.12",
        "/usr/local/cuda/lib64/libcupti.so.12",
        "/usr/local/cuda/targets/x86_64-linux/lib/libcupti.so.12",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12",
    };
    void *driver_library = dlopen(command.driver, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    // One that is named comes before what the software GPU has.
    if (*command.cupti)
        return take_library(command.cupti);
    if (driver_library && dlsym(driver_library, "rgpu_sim_marker"))
        return cupti_source_take_functions(driver_library);
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (take_library(usual[i]))
            return true;
    return false;
}

// ---- records ----

static uint32_t number_of_device(uint32_t device)
{
    int number = session_number_of((CUdevice)device);
    return number < 0 ? 0 : (uint32_t)number;
}

// The fields of CUPTI's records of all kinds, each at an offset of its own.
// clang-format off
#define TAKE_WHEN_AND_WHERE(record) \
    .start = (record)->start, .end = (record)->end, .correlation = (record)->correlation, \
    .device = number_of_device((record)->device), .context = (record)->context, \
    .stream = (record)->stream, .graph_node = (record)->graph_node, .graph = (record)->graph
#define TAKE_COPY(record) \
    .kind = WIRE_ACTIVITY_COPY, \
    .flags = (record)->flags & CUPTI_FLAG_ASYNC ? WIRE_ACTIVITY_ASYNC : 0, \
    .copy = (record)->copy, .from = (record)->from, .to = (record)->to, \
    TAKE_WHEN_AND_WHERE(record)
// clang-format on

static void take_kernel(const struct cupti_kernel *from)
{
    if (from->name && !strcmp(from->name, EMPTY_KERNEL))
        return;
    struct wire_activity record = {
        .kind = WIRE_ACTIVITY_KERNEL,
        TAKE_WHEN_AND_WHERE(from),
        .kernel = {.static_shared = (uint32_t)from->static_shared,
                   .dynamic_shared = (uint32_t)from->dynamic_shared,
                   .local_bytes = from->local_per_thread,
                   .registers = from->registers},
    };
    for (int i = 0; i < 3; i++) {
        record.kernel.grid[i] = (uint32_t)from->grid[i];
        record.kernel.block[i] = (uint32_t)from->block[i];
    }
    store_add(&record, from->name ? from->name : "");
}

static void take_copy(const struct cupti_copy_record *from)
{
    struct wire_activity record = {
        TAKE_COPY(from),
        .move = {.bytes = from->bytes},
    };
    store_add(&record, NULL);
}

static void take_peer_copy(const struct cupti_peer_copy_record *from)
{
    struct wire_activity record = {
        TAKE_COPY(from),
        .move = {.bytes = from->bytes,
                 .from_gpu = from->from_gpu,
                 .to_gpu = from->to_gpu,
                 .from_context = from->from_context,
                 .to_context = from->to_context},
    };
    store_add(&record, NULL);
}

static void take_set(const struct cupti_set_record *from)
{
    struct wire_activity record = {
        .kind = WIRE_ACTIVITY_SET,
        .flags = from->flags & CUPTI_FLAG_ASYNC ? WIRE_ACTIVITY_ASYNC : 0,
        .to = (uint8_t)from->memory,
        TAKE_WHEN_AND_WHERE(from),
        .move = {.bytes = from->bytes, .value = from->value},
    };
    store_add(&record, NULL);
}

static void cupti_source_take_record(const struct cupti_record *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        take_kernel((const struct cupti_kernel *)record);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: take_copy((const struct cupti_copy_record *)record); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        take_peer_copy((const struct cupti_peer_copy_record *)record);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET: take_set((const struct cupti_set_record *)record); break;
    }
}

// ---- what the library calls ----

static void give_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0;
}

static void take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                        size_t valid)
{
    struct cupti_record *record = NULL;
    size_t lost = 0;
    bool dropped =
        cupti.cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS && lost;
    activity_records_begin();
    while (valid && cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        cupti_source_take_record(record);
    if (dropped)
        store_lost(lost);
    activity_records_end();
    free(buffer);
}

static uint64_t now(void)
{
    return clock_ns();
}

static void call_begins(void *argument, CUpti_CallbackDomain domain, uint32_t call,
                        const void *about)
{
    const struct cupti_call_data *data = about;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && data->site == CUPTI_API_ENTER && activity_call)
        store_name_call(data->correlation, activity_call);
}

// ---- on and off ----

static bool cupti_source_gives_work(const char *name)
{
    static const char *const beginnings[] = {"cuLaunch", "cuMemcpy", "cuMemset", "cuGraphLaunch"};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
            return true;
    return false;
}

static void watch_calls(bool watched)
{
    for (uint32_t call = 1; call < CALLS_MAX; call++) {
        const char *name = NULL;
        if (cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, call, &name) != CUPTI_SUCCESS)
            break;
        if (name && cupti_source_gives_work(name))
            cupti.cuptiEnableCallback(watched, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call);
    }
}

static bool cupti_source_subscribe(void)
{
    if (subscriber)
        return true;
    CUptiResult result = cupti.cuptiSubscribe(&subscriber, call_begins, NULL);
    if (result == CUPTI_SUCCESS)
        result = cupti.cuptiActivityRegisterTimestampCallback(now);
    if (result == CUPTI_SUCCESS)
        result = cupti.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    if (result != CUPTI_SUCCESS)
        log_warn("cupti refuses to note what the GPU does result=%d", (int)result);
    return result == CUPTI_SUCCESS;
}

static void enable_kinds(bool enabled)
{
    for (size_t i = 0; i < KINDS; i++) {
        CUptiResult result = enabled ? cupti.cuptiActivityEnable(kinds[i])
                                     : cupti.cuptiActivityDisable(kinds[i]);
        if (result != CUPTI_SUCCESS)
            log_warn("cupti kind=%d enabled=%d result=%d", (int)kinds[i], enabled, (int)result);
    }
}

CUresult cupti_source_start(void)
{
    SCOPED_LOCK(&lock);
    if (!tried)
        loaded = cupti_source_load();
    tried = true;
    if (!loaded)
        log_warn(
            "no times of kernels: no CUPTI was found; install it and name it by cupti in rgpud.conf");
    if (!loaded || !cupti_source_subscribe())
        return CUDA_ERROR_NOT_SUPPORTED;
    enable_kinds(true);
    watch_calls(true);
    return CUDA_SUCCESS;
}

void cupti_source_stop(void)
{
    SCOPED_LOCK(&lock);
    if (!subscriber)
        return;
    watch_calls(false);
    enable_kinds(false);
    cupti.cuptiActivityFlushAll(0);
}

void cupti_source_flush(void)
{
    if (subscriber)
        cupti.cuptiActivityFlushAll(0);
}

uint32_t cupti_source_stream(CUstream stream)
{
    uint32_t number = 0;
    CUcontext context = NULL;
    // A default stream has a number in its context only.
    if (!subscriber || driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS ||
        cupti.cuptiGetStreamIdEx(context, stream, 0, &number) != CUPTI_SUCCESS)
        return 0;
    return number;
}

uint32_t cupti_source_context(CUcontext context)
{
    uint32_t number = 0;
    if (!subscriber || cupti.cuptiGetContextId(context, &number) != CUPTI_SUCCESS)
        return 0;
    return number;
}
