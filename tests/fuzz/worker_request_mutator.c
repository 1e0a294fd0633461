// SPDX-License-Identifier: BSD-3-Clause
// Mutates sequences of requests and keeps their form: records stay whole, handles are those that
// the sequence creates or differ from them in one respect, addresses are those that the GPU has
// returned, and sizes are near limits.
#include <stdlib.h>
#include <string.h>

#include "common/base/handle_table.h"
#include "cuda_ops.h"
#include "proto/wire.h"
#include "tests/fuzz/request_shapes.h"

enum { RECORDS_MAX = 256, MINTED_MAX = 64, TAIL_WORDS = 12, SCENE_MAX = 8, CHANGES_MAX = 3 };
#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define HANDLE(type, index) ((uint64_t)(type) << 56 | UINT64_C(1) << 28 | (index))

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t room, unsigned seed);

// Sequences of calls on one object, from before its creation to after its end.
static const uint16_t scenes[][SCENE_MAX] = {
    {OP_cuMemAlloc_v2, OP_cuMemsetD8Async, OP_cuMemcpyDtoDAsync_v2, OP_cuMemFree_v2,
     OP_cuMemFree_v2},
    {OP_cuMemAllocAsync, OP_cuMemsetD8Async, OP_cuMemFreeAsync, OP_cuStreamSynchronize},
    {OP_cuMemPoolCreate, OP_cuMemAllocFromPoolAsync, OP_cuMemAllocFromPoolAsync, OP_cuMemFreeAsync,
     OP_cuMemPoolTrimTo, OP_cuMemPoolDestroy, OP_cuMemFreeAsync},
    {OP_cuDeviceGetDefaultMemPool, OP_cuMemAllocFromPoolAsync, OP_cuMemPoolDestroy,
     OP_cuMemFree_v2},
    {OP_cuMemAlloc_v2, OP_write_rows, OP_read_rows, OP_cuMemFree_v2},
    {OP_memory_reserve, OP_memory_create, OP_memory_map, OP_memory_open, OP_cuMemsetD8Async,
     OP_memory_unmap, OP_memory_release, OP_memory_unreserve},
    {OP_memory_create, OP_memory_share, OP_memory_hold, OP_memory_release, OP_memory_release},
    {OP_cuGraphCreate, OP_graph_add, OP_graph_add_known, OP_graph_instantiate, OP_cuGraphUpload,
     OP_cuGraphLaunch, OP_cuGraphExecDestroy, OP_cuGraphDestroy},
    {OP_cuGraphCreate, OP_graph_add, OP_graph_list, OP_graph_node_get, OP_cuGraphClone,
     OP_cuGraphDestroy, OP_graph_find_in_clone},
    {OP_cuStreamBeginCapture_v2, OP_cuMemAllocAsync, OP_cuMemsetD8Async, OP_cuMemFreeAsync,
     OP_capture_end, OP_graph_instantiate, OP_cuGraphLaunch},
    {OP_cuStreamCreateWithPriority, OP_cuEventCreate, OP_cuEventRecord, OP_cuStreamWaitEvent,
     OP_cuStreamDestroy_v2, OP_cuEventDestroy_v2},
    {OP_cuArray3DCreate_v2, OP_array_write, OP_array_read, OP_cuTexObjectCreate, OP_cuArrayDestroy,
     OP_cuTexObjectDestroy},
    {OP_device_resource, OP_green_create, OP_cuStreamCreateWithPriority, OP_green_record,
     OP_green_destroy},
    {OP_image_begin, OP_image_data, OP_module_load, OP_cuModuleGetFunction, OP_launch,
     OP_cuCtxSynchronize, OP_cuModuleUnload},
    {OP_image_begin, OP_image_data, OP_library_load, OP_cuLibraryGetKernel, OP_launch,
     OP_cuLibraryUnload},
    {OP_cuMemAlloc_v2, OP_allocation_share, OP_allocation_redeem, OP_allocation_leave,
     OP_cuMemFree_v2},
};

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .global .align 8 .b8 g[64];\n"
                          ".visible .entry k(.param .u32 x) { ret; }\n";

static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

static size_t below(size_t limit)
{
    return (size_t)(random_next() % limit);
}

static bool one_in(unsigned n)
{
    return below(n) == 0;
}

// ---- the sequence ----

struct sequence {
    uint8_t *data;
    size_t size, room;
    size_t at[RECORDS_MAX + 1]; // where each record begins, and where the last one ends
    unsigned count;
    uint64_t minted[MINTED_MAX]; // handles that the records make
    unsigned minted_count;
    uint64_t newest[HANDLE_TYPE_MAX + 1];
};

const struct request_shape *request_shape_of(unsigned op)
{
    for (unsigned i = 0; i < request_shape_count; i++)
        if (request_shapes[i].op == op)
            return &request_shapes[i];
    return NULL;
}

static void note_minted(struct sequence *sequence, uint64_t handle)
{
    sequence->minted[sequence->minted_count++ % MINTED_MAX] = handle;
    sequence->newest[handle_type(handle) & HANDLE_TYPE_MAX] = handle;
}

static void note_handles(struct sequence *sequence, const uint8_t *record, size_t size)
{
    struct wire_request request;

    memcpy(&request, record, sizeof(request));
    const struct request_shape *shape = request_shape_of(request.op);
    for (unsigned i = 0; shape && i < shape->field_count; i++) {
        const struct request_field *field = &shape->fields[i];
        uint64_t handle;
        if (field->kind != FIELD_MINTED || sizeof(request) + field->offset + sizeof(handle) > size)
            continue;
        memcpy(&handle, record + sizeof(request) + field->offset, sizeof(handle));
        note_minted(sequence, handle);
    }
}

// Finds the records, and cuts off the rest.
static void parse(struct sequence *sequence)
{
    size_t at = 0;

    sequence->count = sequence->minted_count = 0;
    memset(sequence->newest, 0, sizeof(sequence->newest));
    while (sequence->count < RECORDS_MAX && at + sizeof(struct wire_request) <= sequence->size) {
        uint32_t size;
        memcpy(&size, sequence->data + at, sizeof(size));
        if (size < sizeof(struct wire_request) || size > sequence->size - at)
            break;
        note_handles(sequence, sequence->data + at, size);
        sequence->at[sequence->count++] = at;
        at += size;
    }
    sequence->at[sequence->count] = at;
    sequence->size = at;
}

static void insert(struct sequence *sequence, unsigned place, const uint8_t *record, size_t size)
{
    size_t at = sequence->at[place];

    if (sequence->size + size > sequence->room || sequence->count == RECORDS_MAX)
        return;
    memmove(sequence->data + at + size, sequence->data + at, sequence->size - at);
    memcpy(sequence->data + at, record, size);
    sequence->size += size;
    parse(sequence);
}

static void drop(struct sequence *sequence, unsigned place)
{
    size_t at = sequence->at[place], next = sequence->at[place + 1];

    memmove(sequence->data + at, sequence->data + next, sequence->size - next);
    sequence->size -= next - at;
    parse(sequence);
}

// ---- values ----

static uint64_t wrong_handle(unsigned kind)
{
    static const uint64_t indexes[] = {0, HANDLE_INDEX_LIMIT - 1, HANDLE_INDEX_LIMIT,
                                       HANDLE_INDEX_LIMIT + 1, (1u << 28) - 1};

    switch (below(6)) {
    case 0: return below(4);
    case 1: return ~(uint64_t)0 >> below(64);
    case 2: return HANDLE(1 + below(34), below(16));
    case 3: return HANDLE(kind, below(16)) + (UINT64_C(1) << 28); // a later generation
    default: return HANDLE(kind, indexes[below(COUNT(indexes))]);
    }
}

static uint64_t some_handle(const struct sequence *sequence, unsigned kind)
{
    if (one_in(6))
        return wrong_handle(kind);
    if (kind == HANDLE_STREAM && one_in(3))
        return below(3) ? 0 : 1;
    if (sequence->newest[kind] && !one_in(3))
        return sequence->newest[kind];
    unsigned known = sequence->minted_count < MINTED_MAX ? sequence->minted_count : MINTED_MAX;
    for (unsigned tries = 0; known && tries < 8; tries++) {
        uint64_t handle = sequence->minted[below(known)];
        if (handle_type(handle) == kind)
            return handle;
    }
    return HANDLE(kind, kind); // those that the target makes: a context, a stream, an event
}

static uint64_t some_address(void)
{
    static const uint32_t offsets[] = {0, 0, 0, 0, 8, 4096, 65536, 0xffffff};

    return one_in(8) ? below(1 << 20) : REQUEST_ADDRESS(below(6), offsets[below(COUNT(offsets))]);
}

static uint64_t some_size(void)
{
    static const uint64_t limits[] = {
        0,         64,        4096,      65536,      1 << 20,           2 << 20,
        32 << 20,  64 << 20,  INT32_MAX, UINT32_MAX, UINT64_C(1) << 40, UINT64_C(1) << 48,
        INT64_MAX, UINT64_MAX};

    switch (below(4)) {
    case 0: return below(64);
    case 1: return (UINT64_C(1) << below(21)) * (1 + below(2));
    default: return limits[below(COUNT(limits))] + below(3) - 1;
    }
}

static uint32_t some_number(void)
{
    static const uint32_t limits[] = {16, 32, 64, 128, 256, 1024, 65535, INT32_MAX, UINT32_MAX};

    switch (below(4)) {
    case 0: return UINT32_C(1) << below(32);
    case 1: return limits[below(COUNT(limits))] + (uint32_t)below(3) - 1;
    default: return (uint32_t)below(5);
    }
}

// A word of a structure or of data, of which nothing is known.
static uint64_t some_word(const struct sequence *sequence)
{
    switch (below(8)) {
    case 0:
        return sequence->minted_count
                   ? sequence->minted[below(
                         sequence->minted_count < MINTED_MAX ? sequence->minted_count : MINTED_MAX)]
                   : 0;
    case 1: return some_address();
    case 2: return some_size();
    case 3: return some_number() | (uint64_t)some_number() << 32;
    case 4: return 1 + below(4);
    default: return 0;
    }
}

static void fill_words(const struct sequence *sequence, uint8_t *at, size_t size)
{
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t word = some_word(sequence);
        memcpy(at + i, &word, size - i < sizeof(word) ? size - i : sizeof(word));
    }
}

static void fill_field(const struct sequence *sequence, const struct request_field *field,
                       uint8_t *args, size_t tail)
{
    uint64_t value = 0;

    switch ((enum request_field_kind)field->kind) {
    case FIELD_HANDLE: value = some_handle(sequence, field->handle); break;
    case FIELD_MINTED:
        value = one_in(12) ? wrong_handle(field->handle)
                           : HANDLE(field->handle, 64 + sequence->minted_count);
        break;
    case FIELD_ADDRESS: value = some_address(); break;
    case FIELD_DEVICE: value = one_in(8) ? some_number() : 0; break;
    case FIELD_SIZE: value = some_size(); break;
    case FIELD_NUMBER: value = some_number(); break;
    case FIELD_TAIL: value = one_in(12) ? some_size() : tail; break;
    case FIELD_STRUCTURE: fill_words(sequence, args + field->offset, field->size); return;
    }
    memcpy(args + field->offset, &value, field->size < 8 ? field->size : 8);
}

// ---- records ----

// Writes the data after the arguments; *LENGTH is the part that counts. Returns its size in the
// record.
static size_t make_tail(const struct sequence *sequence, const struct request_shape *shape,
                        uint8_t *at, size_t *length)
{
    static const char *const names[] = {"k", "g", "x", ""};

    *length = 0;
    if (shape->tail == REQUEST_STRING) {
        const char *name = names[below(COUNT(names))];
        *length = strlen(name) + 1;
        memcpy(at, name, *length);
    } else if (shape->op == OP_image_data) {
        *length = sizeof(ptx);
        memcpy(at, ptx, sizeof(ptx));
    } else if (shape->tail == REQUEST_BYTES) {
        *length = below(TAIL_WORDS + 1) * sizeof(uint64_t);
        fill_words(sequence, at, *length);
    }
    return (*length + 7) & ~(size_t)7;
}

static void add_record(struct sequence *sequence, unsigned place, const struct request_shape *shape)
{
    static uint64_t words[(sizeof(struct wire_request) + UINT16_MAX) / 8 + 64];
    uint8_t *record = (uint8_t *)words, *args = record + sizeof(struct wire_request);
    size_t length, tail;

    memset(args, 0, shape->args_size + 512u);
    tail = make_tail(sequence, shape, args + shape->args_size, &length);
    for (unsigned i = 0; i < shape->field_count; i++)
        if (shape->fields[i].kind != FIELD_STRUCTURE || !one_in(3))
            fill_field(sequence, &shape->fields[i], args, length);
    struct wire_request request = {.size = (uint32_t)(sizeof(request) + shape->args_size + tail),
                                   .op = shape->op,
                                   .call = one_in(8) ? 0 : shape->op,
                                   .context = one_in(16) ? wrong_handle(HANDLE_CONTEXT)
                                                         : HANDLE(HANDLE_CONTEXT, 1)};
    memcpy(record, &request, sizeof(request));
    insert(sequence, place, record, request.size);
}

static void add_scene(struct sequence *sequence)
{
    const uint16_t *scene = scenes[below(COUNT(scenes))];
    unsigned place = (unsigned)below(sequence->count + 1);

    for (unsigned i = 0; i < SCENE_MAX && scene[i]; i++) {
        unsigned before = sequence->count;
        if (one_in(8))
            continue;
        add_record(sequence, place, request_shape_of(scene[i]));
        place += sequence->count - before;
    }
}

static void add_some(struct sequence *sequence)
{
    for (size_t n = 1 + below(4); n > 0; n--)
        add_record(sequence, (unsigned)below(sequence->count + 1),
                   &request_shapes[below(request_shape_count)]);
}

static void change_field(struct sequence *sequence)
{
    uint8_t *record = sequence->data + sequence->at[below(sequence->count)];
    struct wire_request request;

    memcpy(&request, record, sizeof(request));
    const struct request_shape *shape = request_shape_of(request.op);
    if (!shape || !shape->field_count || request.size < sizeof(request) + shape->args_size)
        return;
    fill_field(sequence, &shape->fields[below(shape->field_count)], record + sizeof(request),
               request.size - sizeof(request) - shape->args_size);
}

// Changes bytes after the head of a record; the length stays.
static void change_bytes(struct sequence *sequence)
{
    unsigned place = (unsigned)below(sequence->count);
    size_t begin = sequence->at[place] + sizeof(struct wire_request);
    size_t size = sequence->at[place + 1] - begin;

    if (size && sequence->at[place + 1] > begin)
        LLVMFuzzerMutate(sequence->data + begin, size, size);
}

static void repeat(struct sequence *sequence)
{
    static uint8_t record[WIRE_RECORD_MAX];
    unsigned place = (unsigned)below(sequence->count);
    size_t size = sequence->at[place + 1] - sequence->at[place];

    if (size > sizeof(record))
        return;
    memcpy(record, sequence->data + sequence->at[place], size);
    insert(sequence, (unsigned)below(sequence->count + 1), record, size);
}

static void change(struct sequence *sequence)
{
    size_t what = sequence->count ? below(10) : below(4);

    switch (what) {
    case 0:
    case 1: add_scene(sequence); break;
    case 2:
    case 3: add_some(sequence); break;
    case 4:
    case 5:
    case 6: change_field(sequence); break;
    case 7: change_bytes(sequence); break;
    case 8: repeat(sequence); break;
    case 9: drop(sequence, (unsigned)below(sequence->count)); break;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    static struct sequence sequence;

    random_state = (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    random_next();
    if (size && one_in(16)) // bytes that are no record
        return LLVMFuzzerMutate(data, size, room);
    sequence.data = data;
    sequence.size = size;
    sequence.room = room;
    parse(&sequence);
    for (size_t n = 1 + below(CHANGES_MAX); n > 0; n--)
        change(&sequence);
    return sequence.size ? sequence.size
                         : (memset(data, 0, room < 8 ? room : 8), room < 8 ? room : 8);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t room, unsigned seed)
{
    static struct sequence first, second;

    random_state = (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    random_next();
    first.data = (uint8_t *)(uintptr_t)a; // which parse only reads
    first.size = a_size;
    second.data = (uint8_t *)(uintptr_t)b;
    second.size = b_size;
    parse(&first);
    parse(&second);
    size_t head = first.at[below(first.count + 1)];
    size_t from = second.at[below(second.count + 1)], tail = second.size - from;
    head = head < room ? head : 0;
    tail = tail < room - head ? tail : 0;
    memcpy(out, a, head);
    memcpy(out + head, b + from, tail);
    return head + tail;
}
