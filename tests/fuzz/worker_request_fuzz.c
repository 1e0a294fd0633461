// SPDX-License-Identifier: BSD-3-Clause
// A client that sends arbitrary requests to the worker's software GPU. The input is a sequence of
// request records, each with its length in the first word. Requests that may wait for ever by their
// meaning are left out.
#include <stdlib.h>
#include <string.h>

#include "common/base/handle_table.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/intake/pipeline.h"
#include "daemon/worker/peer/peer_link.h"
#include "daemon/worker/request/serve.h"
#include "daemon/worker/core/session.h"
#include "tests/fuzz/request_shapes.h"
#include "tests/fuzz/software_gpu.h"
#include "cuda_ops.h"
#include "worker_driver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const unsigned fuzz_mutations;
const unsigned fuzz_mutations = 300; // each has much done

// The handles that the corpus uses, as a client would mint them.
#define HANDLE(type, index) ((uint64_t)(type) << 56 | UINT64_C(1) << 28 | (index))

enum { ADDRESSES_MAX = 64 };

static struct serve *serve;
static struct link *client;

static void start(void)
{
    static const struct link_options options = {.block_size = 4096, .block_count = 4};

    software_gpu_start(&options);
    serve = serve_new();
    if (!serve || link_loop_pair(&options, &session.link, &client))
        abort();
}

static void begin_session(void)
{
    CUcontext context = NULL;
    CUstream stream = NULL;
    CUevent event = NULL;

    session.handles = handle_table_new(0);
    gpu_primary(0, &context);
    driver.cuCtxSetCurrent(context);
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuEventCreate(&event, 0);
    serve->current = context;
    gpus.list[0].retained = 1;
    if (handle_bind(session.handles, HANDLE(HANDLE_CONTEXT, 1), context) ||
        handle_bind(session.handles, HANDLE(HANDLE_STREAM, 2), stream) ||
        handle_bind(session.handles, HANDLE(HANDLE_EVENT, 3), event))
        abort();
}

static bool may_wait_for_ever(unsigned op)
{
    switch (op) {
    case OP_cuStreamWaitValue32_v2:
    case OP_cuStreamWaitValue64_v2:
    case OP_cuStreamBatchMemOp_v2: // the GPU waits for a value that is never written
    case OP_host_function:         // for a client that does not answer
    case OP_host_map:              // for a descriptor that does not come
    case OP_host_map_file:
    case OP_host_map_window:
    case OP_peer_frame: // for data that follow on the link
    case OP_graph_block:
    case OP_push_begin: // they hold a stream until data has moved, which never happens here
    case OP_pull:
    case OP_pull_small:
    case OP_semaphore_wait:
    case OP_host_mirror:    // has as many pages made as it asks for
    case OP_cuCtxCreate_v4: // takes memory that is not a session's
        return true;
    case OP_peer_copy: // so does one that waits for the two boxes to be connected
    case OP_peer_join: return peer_links != NULL;
    default: return false;
    }
}

// A grid of this many threads takes no time.
static bool runs_for_long(const uint8_t *record, size_t size)
{
    const struct wire_request *request = (const void *)record;
    const struct args_launch *args = (const void *)(request + 1);
    const uint32_t *sides = &args->grid_x;
    uint64_t threads = 1;

    if (request->op != OP_launch || size < sizeof(*request) + sizeof(*args))
        return false;
    for (int i = 0; i < 6; i++) {
        if (sides[i] > 1024)
            return true;
        threads *= sides[i] ? sides[i] : 1;
    }
    return threads > 4096;
}

// ---- addresses ----

static uint64_t addresses[ADDRESSES_MAX]; // that the GPU has given in this session
static unsigned address_count;

static void note_address(const uint8_t *record, size_t size)
{
    struct wire_event event;

    memcpy(&event, record, sizeof(event));
    const struct request_shape *shape = request_shape_of(event.call);
    if (event.kind != EVENT_REPLY || event.result || !shape || !shape->answers_address ||
        sizeof(event) + shape->address_offset + sizeof(uint64_t) > size)
        return;
    memcpy(&addresses[address_count++ % ADDRESSES_MAX],
           record + sizeof(event) + shape->address_offset, sizeof(uint64_t));
}

static void take_replies(void)
{
    static uint8_t record[WIRE_RECORD_MAX];
    int size;

    while ((size = link_receive(client, record, sizeof(record), 0)) > 0)
        note_address(record, (size_t)size);
}

// Puts the GPU's addresses where the input names them; names are aligned, as addresses are.
static void name_addresses(uint8_t *record, size_t size)
{
    for (size_t at = sizeof(struct wire_request); at + sizeof(uint64_t) <= size; at += 8) {
        uint64_t word;
        memcpy(&word, record + at, sizeof(word));
        if (word >> 32 != REQUEST_ADDRESS_MARK)
            continue;
        word = addresses[(word >> 24 & 0xff) % ADDRESSES_MAX] + (word & 0xffffff);
        memcpy(record + at, &word, sizeof(word));
    }
}

// ---- one request ----

// False: the session is over.
static bool serve_one(size_t size)
{
    const struct wire_request *request = (const void *)serve->record;

    name_addresses(serve->record, size);
    if (may_wait_for_ever(request->op) || runs_for_long(serve->record, size))
        return true;
    bool goes_on = serve_record(serve, (uint32_t)size);
    take_replies();
    return goes_on;
}

// ---- the end ----

// Ends an object as its client would, so that the worker's books of it end too.
static void end_by_request(uint64_t context, uint64_t handle, unsigned op)
{
    struct {
        struct wire_request request;
        uint64_t args[2];
    } record = {{.op = (uint16_t)op, .call = op, .context = context}, {handle, 1}};

    record.request.size = (uint32_t)sizeof(record.request) + request_shape_of(op)->args_size;
    memcpy(serve->record, &record, record.request.size);
    serve_record(serve, record.request.size);
    take_replies();
}

static void forget(void *argument, uint64_t handle, void *object)
{
    static const struct {
        unsigned kind, op;
    } ends[] = {
        {HANDLE_EXEC, OP_cuGraphExecDestroy}, {HANDLE_GRAPH, OP_cuGraphDestroy},
        {HANDLE_POOL, OP_cuMemPoolDestroy},   {HANDLE_MEMORY, OP_memory_release},
        {HANDLE_ARRAY, OP_cuArrayDestroy},    {HANDLE_MIPMAP, OP_cuMipmappedArrayDestroy},
        {HANDLE_LINK, OP_cuLinkDestroy},      {HANDLE_USER_OBJECT, OP_cuUserObjectRelease},
        {HANDLE_EVENT, OP_cuEventDestroy_v2}, {HANDLE_STREAM, OP_cuStreamDestroy_v2},
        {HANDLE_MODULE, OP_cuModuleUnload},   {HANDLE_LIBRARY, OP_cuLibraryUnload},
        {HANDLE_CONTEXT, OP_green_destroy},
    };

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        if (handle_type(handle) == ends[i].kind && handle != HANDLE(HANDLE_CONTEXT, 1))
            end_by_request(HANDLE(HANDLE_CONTEXT, 1), handle, ends[i].op);
}

static void end_session(void)
{
    static unsigned sessions;
    struct args_image_free image;

    for (image.image = 0; image.image < 4; image.image++) {
        struct serve quiet = {0};
        serve_table[OP_image_free].handle(&quiet, &image);
    }
    handle_table_each(session.handles, 0, forget, NULL);
    // Frees allocations whose handles are lost.
    if (++sessions % 64 == 0)
        end_by_request(0, 0, OP_cuDevicePrimaryCtxReset_v2);
    handle_table_free(&session.handles);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!serve)
        start();
    begin_session();
    address_count = 0;
    memset(addresses, 0, sizeof(addresses));
    while (size >= sizeof(struct wire_request)) {
        struct wire_request request;
        memcpy(&request, data, sizeof(request));
        size_t take = request.size < size ? request.size : size;
        if (take < sizeof(request) || take > WIRE_RECORD_MAX)
            take = size < WIRE_RECORD_MAX ? size : WIRE_RECORD_MAX;
        memcpy(serve->record, data, take);
        data += take;
        size -= take;
        if (!serve_one(take))
            break;
    }
    end_session();
    return 0;
}
