// SPDX-License-Identifier: BSD-3-Clause
// Tests that the private tables have the shapes that the CUDA runtime expects, that no slot is
// NULL, and that the functions in use act like the public calls. This file contains a fake driver.
#include "common/driver/export_tables.h"
#include "common/driver/integrity.h"

#include <nettle/hmac.h>
#include <nettle/md2.h>
#include <nettle/nettle-meta.h>
#include <pthread.h>
#include <unistd.h>

#include "common/driver/context_storage.h"
#include "common/driver/proc_address.h"
#include "tests/tap.h"

const struct rgpu_proc_entry rgpu_proc_table[] = {{"", 0, 0, NULL}};
const size_t rgpu_proc_count = 0;

struct hmac_md2 HMAC_CTX(struct md2_ctx);

// ---- the fake driver ----

CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext *context);
CUresult cuCtxGetId(CUcontext context, unsigned long long *id);
CUresult cuStreamGetId(CUstream stream, unsigned long long *id);
CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule module);
CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule module);
CUresult cuFuncGetName(const char **name, CUfunction function);

static CUcontext current, primary = (CUcontext)0x70;
static const void *loaded_image;
static int retained;

CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = 2;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    memset(uuid, 0xa0 + device, sizeof *uuid);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    *value = attribute == CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID ? 1 + device
             : attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID  ? 0x40 + device
                                                            : 0x10 + device;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    loaded_image = image;
    *module = (CUmodule)0x300;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    retained++;
    *context = primary;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    *context = (CUcontext)(uintptr_t)(0x1000 + flags + device);
    return CUDA_SUCCESS;
}

static CUcontext pushed_over;

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    pushed_over = current;
    current = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    current = pushed_over;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    *id = (uintptr_t)context + 1;
    return CUDA_SUCCESS;
}

// A stream's number is made of its own and its context's; 0xbad is no stream.
CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
    if (stream == (CUstream)0xbad)
        return CUDA_ERROR_INVALID_HANDLE;
    *id = ((uintptr_t)current << 16) + (stream ? (uintptr_t)stream : 1);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule module)
{
    *count = 2;
    return module == (CUmodule)0x300 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule module)
{
    for (unsigned int i = 0; i < count; i++)
        functions[i] = (CUfunction)(uintptr_t)(0x400 + i);
    return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction function)
{
    *name = function == (CUfunction)0x400 ? "first" : "second";
    return CUDA_SUCCESS;
}

// ---- the checks ----

static void *const *table(const char *uuid)
{
    CUuuid id;
    const void *slots = NULL;
    for (size_t i = 0; i < sizeof id.bytes; i++) {
        unsigned int byte;
        while (*uuid == '-')
            uuid++;
        sscanf(uuid, "%2x", &byte);
        id.bytes[i] = (char)byte;
        uuid += 2;
    }
    return export_table_get(&slots, &id) == CUDA_SUCCESS ? slots : NULL;
}

static const char runtime_id[] = "6BD5FB6C-5BF4-E74A-8987-D93912FD9DF9";
static const char callbacks_id[] = "A094798C-2E74-2E74-93F2-0800200C0A66";
static const char storage_id[] = "C693336E-1121-DF11-A8C3-68F355D89593";
static const char tools_tls_id[] = "42D85A81-23F6-CB47-8298-F6E78A3AECDC";
static const char tools_context_id[] = "21318C60-9714-3248-8CA6-41FF7324C8F2";
static const char tools_module_id[] = "6E163FBE-B958-444D-835C-E182AFF1991E";
static const char processors_id[] = "1734DC26-800D-4745-8726-C0F1E7DD8BCA";
static const char integrity_id[] = "D4082055-BDE6-704B-8D34-BA123C66E1F2";

static const struct {
    const char *uuid;
    size_t slots;
} shapes[] = {
    {runtime_id, 13},
    {tools_tls_id, 3},
    {callbacks_id, 7},
    {"0CA50B8C-1004-929A-89A7-D0DF10E77286", 2},
    {"195BCBF4-D67D-024A-ACC5-1D29CEA631AE", 3},
    {"B10541E1-F7C7-C74A-9F64-F223BE99F1E2", 31},
    {integrity_id, 3},
    {"263E8860-7CD2-6143-92F6-BBD5006DFA7E", 15},
    {tools_context_id, 95},
    {tools_module_id, 99},
    {processors_id, 17},
};

static void check_shapes(void)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        void *const *slots = table(shapes[i].uuid);
        bool sound = slots && (uintptr_t)slots[0] == shapes[i].slots * sizeof(void *);
        for (size_t slot = 1; sound && slot < shapes[i].slots; slot++)
            sound = slots[slot] != NULL;
        ok(sound, "%s has %zu slots and none is NULL", shapes[i].uuid, shapes[i].slots);
    }
    void *const *storage = table(storage_id);
    ok(storage && storage[0] == (void *)context_storage_put && storage[3],
       "the context storage has no size slot");
    ok(!table("00000000-0000-0000-0000-000000000001"), "an unknown table is refused");
    const void *slots = &slots;
    CUuuid id = {{0}};
    ok(export_table_get(&slots, &id) == CUDA_ERROR_INVALID_VALUE && !slots, "and gives NULL");
    is_int(export_table_get(NULL, &id), CUDA_ERROR_INVALID_VALUE, "nowhere to put a table");
    is_int(export_table_get(&slots, NULL), CUDA_ERROR_INVALID_VALUE, "no identifier");
}

static void check_runtime(void)
{
    void *const *slots = table(runtime_id);
    CUresult (*load)(CUmodule *, const void *) = slots[1];
    CUresult (*get_primary)(CUcontext *, CUdevice) = slots[2];
    CUresult (*load_more)(CUmodule *, const void *, void *, void *, unsigned int) = slots[6];
    CUresult (*load_header)(const void *, CUmodule *, void *, void *, unsigned int) = slots[8];
    int image;
    CUmodule module = NULL;
    ok(load(&module, &image) == CUDA_SUCCESS && loaded_image == &image && module,
       "the runtime loads a module from a wrapper");
    loaded_image = NULL;
    ok(load_more(&module, &image, NULL, NULL, 0) == CUDA_SUCCESS && loaded_image == &image,
       "with more arguments too");
    loaded_image = NULL;
    ok(load_header(&image, &module, NULL, NULL, 0) == CUDA_SUCCESS && loaded_image == &image,
       "and from a header");

    CUcontext first = NULL, second = NULL;
    ok(get_primary(&first, 1) == CUDA_SUCCESS && get_primary(&second, 1) == CUDA_SUCCESS &&
           first == primary && second == primary && !current,
       "the primary context is given, and not made current");
    is_int(retained, 1, "it is retained once however often it is asked for");
}

// Without a driver that knows them, the groups of processors are refused.
static void check_processors(void)
{
    void *const *slots = table(processors_id);
    CUresult (*groups_of)(uint8_t **, uint8_t **) = slots[4];
    uint8_t *groups = (uint8_t *)1, *places = groups;
    ok(groups_of(&groups, &places) == CUDA_ERROR_NOT_SUPPORTED && !groups && !places,
       "groups of processors that are not known are refused");
    is_int(groups_of(NULL, &places), CUDA_ERROR_INVALID_VALUE, "nowhere to put them");
}

static void check_callbacks(void)
{
    void *const *slots = table(callbacks_id);
    CUresult (*sites)(void **, size_t *) = slots[2], (*kinds)(void **, size_t *) = slots[6];
    void *buffer = NULL;
    size_t count = 0;
    ok(sites(&buffer, &count) == CUDA_SUCCESS && buffer && count == 1024, "callback sites");
    ok(kinds(&buffer, &count) == CUDA_SUCCESS && buffer && count == 14, "callback kinds");
}

static void append(uint8_t *record, size_t *size, const void *data, size_t count)
{
    memcpy(record + *size, data, count);
    *size += count;
}

static void check_integrity(void)
{
    static const uint8_t key[16] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                                    0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};
    void *const *slots = table(integrity_id);
    CUresult (*check)(uint32_t, uint64_t, uint64_t *) = slots[1];
    uint64_t result[2] = {0}, seconds = 1700000000, addresses[3];
    is_int(check(13000, seconds, result), CUDA_SUCCESS, "the check answers");
    ok(result[0] == 0x3341181C03CB675C && result[1] == 0x8ED383AA1F4CD1E8, "first fixed answer");
    check(13001, seconds, result);
    ok(result[0] == 0x1841181C03CB675C && result[1] == 0x8ED383AA1F4CD1E8, "second fixed answer");

    // The record by hand, byte for byte.
    uint8_t record[128], digest[MD2_DIGEST_SIZE];
    size_t size = 0;
    uint32_t words[4] = {13000, 13002, (uint32_t)getpid(), (uint32_t)(uintptr_t)pthread_self()};
    addresses[0] = (uintptr_t)table(runtime_id);
    addresses[1] = (uintptr_t)slots;
    addresses[2] = (uintptr_t)slots[1];
    append(record, &size, words, sizeof words);
    append(record, &size, addresses, sizeof addresses);
    append(record, &size, &seconds, sizeof seconds);
    for (int device = 0; device < 2; device++) {
        uint8_t uuid[16];
        int32_t place[3] = {1 + device, 0x40 + device, 0x10 + device};
        memset(uuid, 0xa0 + device, sizeof uuid);
        append(record, &size, uuid, sizeof uuid);
        append(record, &size, place, sizeof place);
    }
    struct hmac_md2 mac;
    HMAC_SET_KEY(&mac, &nettle_md2, sizeof key, key);
    hmac_update(&mac.state, &nettle_md2, size, record);
    HMAC_DIGEST(&mac, &nettle_md2, sizeof digest, digest);
    is_int(check(13002, seconds, result), CUDA_SUCCESS, "any other version answers");
    is_mem(result, digest, sizeof digest, "with an HMAC over process, tables and devices");
}

static void note_function(void *argument, CUfunction function, const char *name)
{
    char *text = argument;
    sprintf(text + strlen(text), "%s=%p ", name, (void *)function);
}

static void check_tools_modules(void)
{
    void *const *slots = table(tools_module_id);
    unsigned long (*visit)(CUcontext, CUmodule, void *, void *) = slots[7];
    char text[64] = "";
    is_int(visit(NULL, (CUmodule)0x300, (void *)note_function, text), 2, "a module's functions");
    is_str(text, "first=0x400 second=0x401 ", "are shown with their names");
    is_int(visit(NULL, (CUmodule)0x301, (void *)note_function, text), 0, "no module, no functions");
}

static void check_tools_contexts(void)
{
    void *const *slots = table(tools_context_id);
    CUresult (*get_current)(CUcontext *) = table(tools_tls_id)[2];
    CUresult (*context_id)(CUcontext, unsigned long long *) = slots[4];
    CUresult (*stream_id)(CUcontext, void *, unsigned long long *) = slots[39];
    CUresult (*stream_object)(CUcontext, CUstream, void **) = slots[51];
    CUcontext got = NULL, other = (CUcontext)0x71;
    unsigned long long id = 0;
    void *object = NULL;

    current = primary;
    ok(get_current(&got) == CUDA_SUCCESS && got == primary, "the current context");
    ok(context_id(primary, &id) == CUDA_SUCCESS && id == 0x71, "a context's number");
    ok(context_id(NULL, &id) == CUDA_SUCCESS && id == 0, "no context has number 0");
    ok(stream_object(other, NULL, &object) == CUDA_SUCCESS && object,
       "the default stream has an object");
    ok(stream_id(other, object, &id) == CUDA_SUCCESS && id == 0x710001,
       "and from it a number, in the context that was named");
    ok(stream_object(primary, (CUstream)0x5, &object) == CUDA_SUCCESS &&
           stream_id(primary, object, &id) == CUDA_SUCCESS && id == 0x700005,
       "so has any other stream");
    ok(current == primary, "the current context is what it was");
    is_int(stream_object(NULL, NULL, &object), CUDA_ERROR_INVALID_HANDLE, "no context, no object");
    is_int(stream_object(primary, (CUstream)0xbad, &object), CUDA_ERROR_INVALID_HANDLE,
           "nor without a stream");
    current = NULL;
}

static CUcontext dropped_context;
static int drops, last_drop;

static void on_drop(CUcontext context, void *key, void *value)
{
    dropped_context = context;
    last_drop = *(int *)value;
    drops += *(int *)key + *(int *)value;
}

static void check_storage(void)
{
    void *const *slots = table(storage_id);
    CUresult (*put)(CUcontext, void *, void *, context_storage_destructor) = slots[0];
    CUresult (*delete)(CUcontext, void *) = slots[1];
    CUresult (*get)(void **, CUcontext, void *) = slots[2];
    CUcontext one = (CUcontext)0x1, two = (CUcontext)0x2;
    int key = 10, other_key = 20, value = 3, other_value = 4;
    void *got = NULL;

    current = NULL;
    is_int(put(NULL, &key, &value, NULL), CUDA_ERROR_INVALID_CONTEXT, "no context, no storage");
    is_int(get(&got, one, &key), CUDA_ERROR_INVALID_HANDLE, "nothing is there at first");
    is_int(put(one, &key, &value, on_drop), CUDA_SUCCESS, "a value is put");
    ok(get(&got, one, &key) == CUDA_SUCCESS && got == &value, "and found");
    is_int(get(&got, two, &key), CUDA_ERROR_INVALID_HANDLE, "but not in another context");
    current = one;
    ok(get(&got, NULL, &key) == CUDA_SUCCESS && got == &value, "NULL means the current context");
    is_int(put(NULL, &key, &other_value, on_drop), CUDA_ERROR_INVALID_HANDLE,
           "a second put is refused");
    ok(get(&got, one, &key) == CUDA_SUCCESS && got == &value, "and the first value stays");
    put(one, &other_key, &value, on_drop);
    put(two, &key, &value, on_drop);
    is_int(delete (one, &other_key), CUDA_SUCCESS, "a value is deleted");
    is_int(delete (one, &other_key), CUDA_ERROR_INVALID_HANDLE, "once");
    is_int(drops, 0, "without its destructor");
    put(one, &other_key, &other_value, on_drop);
    context_storage_drop(one);
    ok(drops == 37 && dropped_context == one, "destructors run when the context goes");
    is_int(last_drop, value, "the newest first");
    is_int(get(&got, one, &key), CUDA_ERROR_INVALID_HANDLE, "and its values go with it");
    ok(get(&got, two, &key) == CUDA_SUCCESS, "those of another context stay");
    context_storage_drop(two);
}

int main(void)
{
    integrity_set_driver_version(13000);
    check_shapes();
    check_runtime();
    check_callbacks();
    check_processors();
    check_integrity();
    check_storage();
    check_tools_modules();
    check_tools_contexts();
    return done();
}
