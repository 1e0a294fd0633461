// SPDX-License-Identifier: BSD-3-Clause
// Tables by UUID. A table is an array of pointers whose first slot is the table's size in bytes,
// except in the table of context storage. Sizes are those of driver 13.0 or later. Slots with an
// unknown function return success and log their use at level debug; slot 0 in such a log line
// stands for all slots without a function.
#include "common/driver/export_tables.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/driver/context_storage.h"
#include "common/driver/integrity.h"
#include "common/base/log.h"
#include "common/base/scope.h"

CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext *context);
CUresult cuCtxGetId(CUcontext context, unsigned long long *id);
CUresult cuStreamGetId(CUstream stream, unsigned long long *id);
CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule module);
CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule module);
CUresult cuFuncGetName(const char **name, CUfunction function);

#define SIZE_OF(slots) ((const void *)(uintptr_t)((slots) * sizeof(void *)))

static CUresult unused_slot(const char *table, unsigned slot)
{
    log_debug("export table slot without effect called table=%s slot=%u", table, slot);
    return CUDA_SUCCESS;
}
#define UNUSED(table, slot) \
    static CUresult table##_slot##slot(void) \
    { \
        return unused_slot(#table, slot); \
    }

// ---- runtime interface ----

__attribute__((weak)) CUresult export_table_primary_context(CUcontext *context, CUdevice device)
{
    enum { DEVICES = 64 };
    static _Atomic(CUcontext) kept[DEVICES];
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    if (device >= 0 && device < DEVICES && (*context = atomic_load(&kept[device])))
        return CUDA_SUCCESS;
    CUresult result = cuDevicePrimaryCtxRetain(context, device);
    if (result == CUDA_SUCCESS && device >= 0 && device < DEVICES)
        atomic_store(&kept[device], *context);
    return result;
}

static CUresult runtime_module_load(CUmodule *module, const void *wrapper)
{
    return cuModuleLoadData(module, wrapper);
}

static CUresult runtime_primary_context(CUcontext *context, CUdevice device)
{
    return export_table_primary_context(context, device);
}

static CUresult runtime_module_load_more(CUmodule *module, const void *wrapper, void *first,
                                         void *second, unsigned int third)
{
    return cuModuleLoadData(module, wrapper);
}

static void runtime_note_size(size_t size)
{
    unused_slot("runtime", 7);
}

static CUresult runtime_module_load_header(const void *header, CUmodule *module, void *first,
                                           void *second, unsigned int third)
{
    return cuModuleLoadData(module, header);
}

static CUresult runtime_load_compilers(void)
{
    return CUDA_SUCCESS;
}

UNUSED(runtime, 3)
UNUSED(runtime, 4)
UNUSED(runtime, 5)
UNUSED(runtime, 9)
UNUSED(runtime, 10)
UNUSED(runtime, 11)

static const void *const runtime_table[] = {
    SIZE_OF(13),
    runtime_module_load,
    runtime_primary_context,
    runtime_slot3,
    runtime_slot4,
    runtime_slot5,
    runtime_module_load_more,
    runtime_note_size,
    runtime_module_load_header,
    runtime_slot9,
    runtime_slot10,
    runtime_slot11,
    runtime_load_compilers,
};

// ---- tools ----

static CUresult tools_current_context(CUcontext *context)
{
    return cuCtxGetCurrent(context);
}

UNUSED(tools_tls, 1)

static const void *const tools_tls_table[] = {SIZE_OF(3), tools_tls_slot1, tools_current_context};

// The runtime keeps the callbacks of profilers in these buffers; none is ever registered.
static uint32_t callback_sites[1024];
static uint32_t callback_kinds[14];

static CUresult callbacks_sites(void **buffer, size_t *count)
{
    *buffer = callback_sites;
    *count = sizeof callback_sites / sizeof *callback_sites;
    return CUDA_SUCCESS;
}

static CUresult callbacks_kinds(void **buffer, size_t *count)
{
    *buffer = callback_kinds;
    *count = sizeof callback_kinds / sizeof *callback_kinds;
    return CUDA_SUCCESS;
}

UNUSED(callbacks, 1)
UNUSED(callbacks, 3)
UNUSED(callbacks, 4)
UNUSED(callbacks, 5)

static const void *const callbacks_table[] = {
    SIZE_OF(7),      callbacks_slot1, callbacks_sites, callbacks_slot3,
    callbacks_slot4, callbacks_slot5, callbacks_kinds,
};

// ---- contexts ----

UNUSED(context_storage, 3)

static const void *const context_storage_table[] = {
    context_storage_put,
    context_storage_delete,
    context_storage_get,
    context_storage_slot3,
};

static CUresult context_create(CUcontext *context, unsigned int flags, CUdevice device)
{
    return cuCtxCreate_v2(context, flags, device);
}

static const void *const context_create_table[] = {SIZE_OF(2), context_create};

static CUresult heap_access(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static const void *const heap_access_table[] = {SIZE_OF(3), heap_access, heap_access};

static CUresult context_check(CUcontext context, uint32_t *state, const void **more)
{
    if (state)
        *state = 0;
    return CUDA_SUCCESS;
}

static uint32_t context_check_version(void)
{
    return 0;
}

UNUSED(context_check, 0)

static const void *const context_check_table[15] = {
    [0] = SIZE_OF(15),           [1] = context_check_slot0,        [2] = context_check,
    [3] = context_check_version, [4 ... 14] = context_check_slot0,
};

// ---- devices ----

static CUresult device_extended_attribute(CUdevice device, unsigned int attribute, int unused,
                                          size_t value[2])
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult device_extended_flag(unsigned char *value, CUdevice device)
{
    if (value)
        *value = 0;
    return CUDA_SUCCESS;
}

UNUSED(device, 0)

static const void *const device_table[31] = {
    [0] = SIZE_OF(31),         [1 ... 4] = device_slot0,    [5] = device_extended_attribute,
    [6 ... 12] = device_slot0, [13] = device_extended_flag, [14 ... 30] = device_slot0,
};

// ---- integrity ----

static CUresult integrity_answer(uint32_t version, uint64_t unix_seconds, uint64_t result[2]);
UNUSED(integrity, 2)

static const void *const integrity_table[] = {SIZE_OF(3), integrity_answer, integrity_slot2};

static CUresult integrity_answer(uint32_t version, uint64_t unix_seconds, uint64_t result[2])
{
    const struct integrity_tables tables = {runtime_table, integrity_table, integrity_answer};
    CUresult status = integrity_check(&tables, version, unix_seconds, result);
    log_debug("integrity check answered version=%u result=%d", version, (int)status);
    return status;
}

// ---- contexts and modules for tools, which cuBLAS and cuFFT use too ----

static CUresult tools_context_id(CUcontext context, unsigned long long *id)
{
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    *id = 0;
    return context ? cuCtxGetId(context, id) : CUDA_SUCCESS;
}

// The identity of a stream as CONTEXT sees it: a default stream is another one in each.
static CUresult stream_id(CUcontext context, CUstream stream, unsigned long long *id)
{
    if (!context)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = cuCtxPushCurrent_v2(context);
    if (result != CUDA_SUCCESS)
        return result;
    result = cuStreamGetId(stream, id);
    cuCtxPopCurrent_v2(NULL);
    return result;
}

// The driver gives the address of its own object for a stream; ours is the handle, never NULL.
static CUresult tools_stream_object(CUcontext context, CUstream stream, void **object)
{
    unsigned long long id;
    if (!object)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = stream_id(context, stream, &id);
    if (result == CUDA_SUCCESS)
        *object = stream ? stream : CU_STREAM_LEGACY;
    return result;
}

static CUresult tools_stream_id(CUcontext context, void *object, unsigned long long *id)
{
    if (!object || !id)
        return CUDA_ERROR_INVALID_VALUE;
    return stream_id(context, object, id);
}

UNUSED(tools_context, 0)

static const void *const tools_context_table[95] = {
    [0] = SIZE_OF(95),          [1 ... 3] = tools_context_slot0,
    [4] = tools_context_id,     [5 ... 38] = tools_context_slot0,
    [39] = tools_stream_id,     [40 ... 50] = tools_context_slot0,
    [51] = tools_stream_object, [52 ... 94] = tools_context_slot0,
};

typedef void (*function_visitor)(void *argument, CUfunction function, const char *name);

// Shows every function of a module to VISIT and gives their number.
static unsigned long tools_module_functions(CUcontext context, CUmodule module,
                                            function_visitor visit, void *argument)
{
    unsigned int count = 0;
    if (cuModuleGetFunctionCount(&count, module) != CUDA_SUCCESS || !count)
        return 0;
    CUfunction *functions = calloc(count, sizeof *functions);
    if (!functions || cuModuleEnumerateFunctions(functions, count, module) != CUDA_SUCCESS)
        count = 0;
    for (unsigned int i = 0; visit && i < count; i++) {
        const char *name = NULL;
        if (cuFuncGetName(&name, functions[i]) != CUDA_SUCCESS)
            name = "";
        visit(argument, functions[i], name);
    }
    free(functions);
    return count;
}

UNUSED(tools_module, 0)

static const void *const tools_module_table[99] = {
    [0] = SIZE_OF(99),
    [1 ... 6] = tools_module_slot0,
    [7] = tools_module_functions,
    [8 ... 98] = tools_module_slot0,
};

// ---- processors ----

// cuBLASLt asks which group of processors (GPC) each pair of them (TPC) of the current context's
// GPU is in, and chooses kernels by it. It goes without where this is refused, but not without the
// table.
__attribute__((weak)) CUresult export_table_processor_groups(uint8_t *groups, uint8_t *places,
                                                             size_t room, size_t *count)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult processors_give_back(uint8_t *groups, uint8_t *places)
{
    free(groups);
    free(places);
    return CUDA_SUCCESS;
}

static CUresult processors_groups(uint8_t **groups, uint8_t **places)
{
    enum { PAIRS_MAX = 1024 };
    size_t count = 0;
    if (!groups || !places)
        return CUDA_ERROR_INVALID_VALUE;
    *groups = malloc(PAIRS_MAX);
    *places = malloc(PAIRS_MAX);
    CUresult result = *groups && *places
                          ? export_table_processor_groups(*groups, *places, PAIRS_MAX, &count)
                          : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS && !count)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result != CUDA_SUCCESS) {
        processors_give_back(*groups, *places);
        *groups = *places = NULL;
    }
    log_debug("groups of processors asked for pairs=%zu result=%d", count, (int)result);
    return result;
}

// The results of the other slots are unknown; a success without an answer would be taken for one.
static CUresult processors_other(void)
{
    log_debug("export table slot refused table=processors");
    return CUDA_ERROR_NOT_SUPPORTED;
}

static const void *const processors_table[17] = {
    [0] = SIZE_OF(17),           [1 ... 3] = processors_other,
    [4] = processors_groups,     [5 ... 12] = processors_other,
    [13] = processors_give_back, [14 ... 16] = processors_other,
};

// ---- lookup ----

static const struct export_table {
    unsigned char id[16];
    const char *name;
    const void *const *slots;
} tables[] = {
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
      0xf9},
     "runtime",
     runtime_table},
    {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec,
      0xdc},
     "tools-tls",
     tools_tls_table},
    {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a,
      0x66},
     "callbacks",
     callbacks_table},
    {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95,
      0x93},
     "context-storage",
     context_storage_table},
    {{0x0c, 0xa5, 0x0b, 0x8c, 0x10, 0x04, 0x92, 0x9a, 0x89, 0xa7, 0xd0, 0xdf, 0x10, 0xe7, 0x72,
      0x86},
     "context-create",
     context_create_table},
    {{0x19, 0x5b, 0xcb, 0xf4, 0xd6, 0x7d, 0x02, 0x4a, 0xac, 0xc5, 0x1d, 0x29, 0xce, 0xa6, 0x31,
      0xae},
     "heap-access",
     heap_access_table},
    {{0xb1, 0x05, 0x41, 0xe1, 0xf7, 0xc7, 0xc7, 0x4a, 0x9f, 0x64, 0xf2, 0x23, 0xbe, 0x99, 0xf1,
      0xe2},
     "device",
     device_table},
    {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1,
      0xf2},
     "integrity",
     integrity_table},
    {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa,
      0x7e},
     "context-check",
     context_check_table},
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
      0xf2},
     "tools-context",
     tools_context_table},
    {{0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99,
      0x1e},
     "tools-module",
     tools_module_table},
    {{0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45, 0x87, 0x26, 0xc0, 0xf1, 0xe7, 0xdd, 0x8b,
      0xca},
     "processors",
     processors_table},
};

// Tables that this library omits on purpose. If the runtime found the first one, it would skip its
// own initialisation. NVIDIA's run-time compiler and linker do without the second. Only the
// management library of a driver requests the third.
static const unsigned char known_missing[][16] = {
    {0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d,
     0xd9},
    {0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3,
     0x28},
    {0x69, 0xa2, 0x8e, 0x9f, 0x24, 0x49, 0x8b, 0x47, 0xb0, 0x30, 0xc5, 0xda, 0x33, 0x0e, 0xa4,
     0xe9},
};

// NVIDIA's profiling library asks for this one when it begins.
static const unsigned char of_cupti[16] = {0x2c, 0x8e, 0x0a, 0xd8, 0x07, 0x10, 0xab, 0x4e,
                                           0x90, 0xdd, 0x54, 0x71, 0x9f, 0xe5, 0xf7, 0x4b};

static bool is_known_missing(const unsigned char *id)
{
    for (size_t i = 0; i < sizeof known_missing / sizeof *known_missing; i++)
        if (!memcmp(id, known_missing[i], sizeof known_missing[i]))
            return true;
    return false;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// True the first time that a table is asked for; when there are more of them than are remembered,
// it is better to say one twice than to leave one out.
static bool first_time(const unsigned char id[16])
{
    enum { REMEMBERED = 64 };
    static unsigned char reported[REMEMBERED][16];
    static size_t count;
    bool found = false;
    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < count && !found; i++)
        found = !memcmp(reported[i], id, 16);
    if (!found && count < REMEMBERED)
        memcpy(reported[count++], id, 16);
    return !found;
}

// A library that calls through a table without a look at the result crashes where it is missing, so
// that a user's log has to name it.
static void log_unknown(const CUuuid *id)
{
    const unsigned char *byte = (const unsigned char *)id->bytes;
    if (is_known_missing(byte) || !first_time(byte))
        return;
    if (!memcmp(byte, of_cupti, sizeof of_cupti)) {
        log_warn(
            "the program has loaded NVIDIA's CUPTI, which sees nothing of remote GPUs: start it "
            "with `rgpuctl run`, or with LD_PRELOAD=DIR/libcupti.so.13, where DIR is that of "
            "rgpu's libcuda.so.1");
        return;
    }
    log_warn("a private table of the driver was asked for that is not known: what asked may not "
             "work id=%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             byte[0], byte[1], byte[2], byte[3], byte[4], byte[5], byte[6], byte[7], byte[8],
             byte[9], byte[10], byte[11], byte[12], byte[13], byte[14], byte[15]);
}

CUresult export_table_get(const void **table, const CUuuid *id)
{
    if (!table || !id)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (!memcmp(tables[i].id, id->bytes, sizeof tables[i].id)) {
            log_trace("export table handed out name=%s", tables[i].name);
            *table = tables[i].slots;
            return CUDA_SUCCESS;
        }
    }
    log_unknown(id);
    *table = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}
