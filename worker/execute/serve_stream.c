// SPDX-License-Identifier: BSD-3-Clause
// Streams, which take memory of the GPU as well.
#include "worker/account/charge.h"
#include "worker/account/passage.h"
#include "worker/gpus.h"
#include "worker/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

// 64 streams took 34 MiB of an H100.
enum { STREAM_BYTES = 544 * 1024 };

// Counts a stream that is about to be made as SERVE's. Where it is not known how the driver takes memory,
// it is no GPU's.
static bool count_stream(struct serve *serve)
{
    CUdevice device = 0;

    serve_fail(serve, driver.cuCtxGetDevice(&device));
    if (serve_failed(serve))
        return false;
    int ordinal = session_device_of(device);
    if (!charges_apply(ordinal) || !gpus.list[ordinal].page ||
        charge_set(serve, 0, serve->current, ordinal, STREAM_BYTES))
        return true;
    serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    return false;
}

static void enter_stream(struct serve *serve, uint64_t handle, CUstream stream)
{
    if (serve_failed(serve)) {
        charge_drop(serve);
        return;
    }
    charge_rename(serve, stream);
    serve_bind(serve, HANDLE_STREAM, handle, stream, serve_context(serve));
}

void serve_cuStreamCreate(struct serve *serve, const struct args_cuStreamCreate *args)
{
    CUstream stream = NULL;

    if (!serve_require(serve, driver.cuStreamCreate) || !count_stream(serve))
        return;
    serve_fail(serve, driver.cuStreamCreate(&stream, args->Flags));
    enter_stream(serve, args->phStream, stream);
}

void serve_cuStreamCreateWithPriority(struct serve *serve,
                                      const struct args_cuStreamCreateWithPriority *args)
{
    CUstream stream = NULL;

    if (!serve_require(serve, driver.cuStreamCreateWithPriority) || !count_stream(serve))
        return;
    serve_fail(serve, driver.cuStreamCreateWithPriority(&stream, args->flags, args->priority));
    enter_stream(serve, args->phStream, stream);
}

void serve_cuStreamDestroy_v2(struct serve *serve, const struct args_cuStreamDestroy_v2 *args)
{
    CUstream stream = serve_handle(serve, HANDLE_STREAM, args->hStream);

    // The default streams are nobody's to destroy.
    if (args->hStream <= 1)
        serve_fail(serve, CUDA_ERROR_INVALID_HANDLE);
    if (!serve_require(serve, driver.cuStreamDestroy_v2))
        return;
    // The driver keeps a stream until its work is done.
    struct passage *passage = session.budgeted ? passage_begin(serve->current, stream) : NULL;
    serve_fail(serve, driver.cuStreamDestroy_v2(stream));
    if (serve_failed(serve))
        passage_end(passage);
    else
        charge_drop_behind(stream, passage);
    serve_unbind(serve, HANDLE_STREAM, args->hStream);
}
