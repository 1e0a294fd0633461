// SPDX-License-Identifier: BSD-3-Clause
// Requests for copies between boxes, and frames of peer links that travel through the client.
#include "common/base/handle_table.h"
#include "common/base/scope.h"
#include "daemon/worker/copy/parts/semaphores.h"
#include "daemon/worker/peer/peer_frames.h"
#include "daemon/worker/peer/peer_jobs.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

void serve_peer_relay(struct serve *serve, const struct args_peer_relay *args)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = peer_link_find(args->peer);
    if (link && link->state == PEER_RENDEZVOUS)
        peer_link_relay(link, args + 1, args->bytes);
    else
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
}

void serve_peer_close(struct serve *serve, const struct args_peer_close *args)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = peer_link_find(args->peer);
    if (!link)
        return;
    link->closed = true;
    peer_link_lose(link, args->result ? (CUresult)args->result : CUDA_ERROR_UNKNOWN);
}

void serve_peer_settle(struct serve *serve, const struct args_peer_settle *args)
{
    peer_jobs_settle(args->peer, args->job);
}

bool check_peer_frame(const void *raw)
{
    const struct args_peer_frame *args = raw;

    bool carries = args->kind == PEER_DATA || args->kind == PEER_PUT;

    return args->size <= WIRE_BLOCK_SIZE && carries == (args->size != 0);
}

void serve_peer_frame(struct serve *serve, const struct args_peer_frame *args)
{
    const struct wire_peer_frame frame = {.peer = args->peer,
                                          .kind = args->kind,
                                          .result = args->result,
                                          .job = args->job,
                                          .offset = args->offset,
                                          .bytes = args->size};

    // The next read of a link that is down reports it.
    if (peer_take_frame(&frame, session.link))
        return;
}

// ---- copies ----

static void check_side(struct serve *serve, const struct peer_shape *shape, uint64_t *total)
{
    uint64_t extent;

    if (!peer_shape_measure(shape, total, &extent))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else if (!serve_failed(serve))
        serve_device_range(serve, shape->address, extent);
}

// Streams are asked in their own context. The default ones are those of the current one.
static CUcontext context_of_stream(const struct serve *serve, uint64_t stream)
{
    if (stream <= 1 || serve_failed(serve))
        return serve->current;
    return handle_find(session.handles, session.notes[handle_index(stream)].parent, HANDLE_CONTEXT);
}

// The stream stops here, and the copy begins when it does.
static CUresult stop_stream(struct serve *serve, struct peer_job *job, CUcontext context,
                            CUstream stream)
{
    CUresult result = context == serve->current ? CUDA_SUCCESS : driver.cuCtxSetCurrent(context);

    if (result == CUDA_SUCCESS)
        result = driver.cuEventCreate(&job->start, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS) {
        job->start_context = context;
        job->stream = stream;
        result = driver.cuEventRecord(job->start, stream);
    }
    if (result == CUDA_SUCCESS)
        result = semaphore_wait(stream, job->semaphore, job->value);
    if (context != serve->current)
        driver.cuCtxSetCurrent(serve->current);
    return result;
}

// Joins the client's request for a copy with the other end's report of it. Returns false if there
// is no such link, or no room.
static bool serve_peer_enter(struct serve *serve, uint32_t peer, const struct peer_job *asked)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = peer_link_find(peer);
    struct peer_job *job = link ? peer_job_get(link, asked->id) : NULL;
    if (!job || job->here != HERE_ANNOUNCED) {
        serve_fail(serve, link && !job ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE);
        return false;
    }
    job->waiting = asked->waiting;
    job->owns = asked->owns;
    job->sends = asked->sends;
    job->shape = asked->shape;
    job->total = asked->total;
    job->context = asked->context;
    job->start_context = asked->start_context;
    job->start = asked->start;
    job->stream = asked->stream;
    job->semaphore = asked->semaphore;
    job->value = asked->value;
    peer_job_begin(job);
    if (serve_failed(serve))
        peer_job_fail(job, serve->result);
    return true;
}

// If one side fails, the copy begins nevertheless and ends at once, so that the other end gets the
// failure. The driver is called without the lock: it may wait until the stream has room, and so for
// earlier copies.
static void serve_peer_begin(struct serve *serve, const struct semaphore_pass *pass, uint32_t peer,
                             struct peer_job *asked, CUcontext stream_context, CUstream stream)
{
    asked->semaphore = semaphore_take(pass, SEMAPHORE_OF_CLIENT, &asked->value);
    if (asked->semaphore < 0)
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    if (!serve_failed(serve) && asked->owns)
        serve_fail(serve, stop_stream(serve, asked, stream_context, stream));
    if (!serve_peer_enter(serve, peer, asked) && asked->semaphore >= 0) {
        semaphore_signal(asked->semaphore, asked->value);
        semaphore_release(asked->semaphore);
    }
}

void serve_peer_copy(struct serve *serve, const struct args_peer_copy *args)
{
    CUstream stream = serve_handle(serve, HANDLE_STREAM, args->stream);
    CUcontext memory = serve_handle(serve, HANDLE_CONTEXT, args->memory);
    SEMAPHORE_PASS(pass);
    struct peer_job job = {.id = args->job,
                           .waiting = args->waiting,
                           .owns = true,
                           .sends = args->sends,
                           .shape = {args->address, args->pitch, args->slice, args->width,
                                     args->height, args->depth},
                           .context = memory};

    check_side(serve, &job.shape, &job.total);
    serve_peer_begin(serve, &pass, args->peer, &job, context_of_stream(serve, args->stream),
                     stream);
}

void serve_peer_join(struct serve *serve, const struct args_peer_join *args)
{
    CUcontext memory = serve_handle(serve, HANDLE_CONTEXT, args->memory);
    SEMAPHORE_PASS(pass);
    struct peer_job job = {.id = args->job,
                           .sends = args->sends,
                           .shape = {args->address, args->pitch, args->slice, args->width,
                                     args->height, args->depth},
                           .context = memory};

    check_side(serve, &job.shape, &job.total);
    serve_peer_begin(serve, &pass, args->peer, &job, NULL, NULL);
}
