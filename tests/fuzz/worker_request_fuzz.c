// SPDX-License-Identifier: BSD-3-Clause
// A client that has the worker's software GPU execute whatever it likes: the input is a sequence of
// request records, each as long as its first word says. Requests that may wait for ever by what they
// mean are left out.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/handle_table.h"
#include "common/log.h"
#include "proto/wire.h"
#include "transport/link.h"
#include "worker/driver_load.h"
#include "worker/account/allocation.h"
#include "worker/gpus.h"
#include "worker/execute/serve_context.h"
#include "worker/execute/pipeline.h"
#include "worker/serve.h"
#include "worker/move/pinned.h"
#include "worker/session.h"
#include "cuda_ops.h"
#include "worker_driver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The handles that the corpus uses, as a client would mint them.
#define HANDLE(type, index) ((uint64_t)(type) << 56 | UINT64_C(1) << 28 | (index))

static struct serve *serve;
static struct link *client;

static void start(void)
{
    static const struct link_options options = {.block_size = 4096, .block_count = 4};
    char path[4096], text[256], books[64];
    const char *build = getenv("BUILD");
    CUcontext context;

    log_set_level(LOG_LEVEL_OFF);
    setenv("RGPU_LOG", "off", 1); // of the software GPU
    setenv("RGPU_SIM_MEMORY", "64M", 1);
    // Books of its own: those of this user are shared with every other software GPU on the machine.
    snprintf(books, sizeof(books), "/dev/shm/rgpu-sim-fuzz-%d", (int)getpid());
    setenv("RGPU_SIM_STATE", books, 1);
    snprintf(path, sizeof(path), "%s/lib/libcuda-sim.so", build ? build : "build");
    if (driver_load(path, text, sizeof(text)) || gpus_discover() ||
        shm_memory_new(&options, &pinned.shm))
        abort();
    pinned.staging = shm_memory_staging(pinned.shm);
    if (gpu_primary(0, &context) || driver.cuCtxSetCurrent(context) || pinned_register())
        abort();
    unlink(books); // it is open
    session.device_count = 1;
    session.notes = calloc(HANDLE_INDEX_LIMIT, sizeof(*session.notes));
    serve = serve_new();
    if (!serve || !session.notes || link_loop_pair(&options, &session.link, &client))
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
    case OP_cuStreamBatchMemOp_v2: // the GPU waits for what nobody writes
    case OP_host_function:         // for a client that does not answer
    case OP_host_map:              // for a descriptor that does not come
    case OP_host_mirror:           // has as many pages made as it asks for
    case OP_cuCtxCreate_v4:        // takes memory that is not a session's
        return true;
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

static void take_replies(void)
{
    static uint8_t record[WIRE_RECORD_MAX];

    while (link_receive(client, record, sizeof(record), 0) > 0)
        ;
}

static void forget(void *argument, uint64_t handle, void *object)
{
    switch (handle_type(handle)) {
    case HANDLE_STREAM: driver.cuStreamDestroy_v2(object); break;
    case HANDLE_EVENT: driver.cuEventDestroy_v2(object); break;
    case HANDLE_MODULE: driver.cuModuleUnload(object); break;
    case HANDLE_LIBRARY: driver.cuLibraryUnload(object); break;
    default: break;
    }
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
    handle_table_free(&session.handles);
    // Gives back what was allocated and is not known any more.
    if (++sessions % 64 == 0) {
        session.handles = handle_table_new(0);
        allocations_leave_context(gpus.list[0].primary, &sessions);
        gpu_reset(0);
        allocations_left(&sessions);
        handle_table_free(&session.handles);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!serve)
        start();
    begin_session();
    while (size >= sizeof(struct wire_request)) {
        struct wire_request request;
        memcpy(&request, data, sizeof(request));
        size_t take = request.size < size ? request.size : size;
        if (take < sizeof(request) || take > WIRE_RECORD_MAX)
            take = size < WIRE_RECORD_MAX ? size : WIRE_RECORD_MAX;
        memcpy(serve->record, data, take);
        data += take;
        size -= take;
        if (may_wait_for_ever(request.op) || runs_for_long(serve->record, take))
            continue;
        if (!serve_record(serve, (uint32_t)take))
            break;
        take_replies();
    }
    end_session();
    return 0;
}
