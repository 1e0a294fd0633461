// SPDX-License-Identifier: BSD-3-Clause
// Linear copies of ordinary memory through staging blocks. The GPU reads and writes the blocks
// itself, or the box fetches and stores them.
#include <string.h>

#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/copy/staged_pieces.h"
#include "client_calls.h"

struct linear_job {
    struct staged_job job;
    CUdeviceptr device;
    uint8_t *host;
    size_t piece_size;
    const struct copy_progress *progress; // NULL: no progress is reported
};

static const struct linear_job *linear_of(const struct staged_job *job)
{
    return (const struct linear_job *)job;
}

static size_t offset_of(const struct staged_job *job, size_t piece)
{
    return piece * linear_of(job)->piece_size;
}

static size_t staged_bytes_of(const struct staged_job *job, size_t piece)
{
    size_t left = job->total - offset_of(job, piece);
    return left < linear_of(job)->piece_size ? left : linear_of(job)->piece_size;
}

static CUresult ask_to(const struct staged_job *job, size_t piece, struct staging_block *block)
{
    return remote_copy_to_device(linear_of(job)->device + offset_of(job, piece),
                                 block_name(job->session, block), staged_bytes_of(job, piece),
                                 job->stream);
}

static CUresult ask_from(const struct staged_job *job, size_t piece, struct staging_block *block)
{
    return remote_copy_from_device(block_name(job->session, block),
                                   linear_of(job)->device + offset_of(job, piece),
                                   staged_bytes_of(job, piece), job->stream);
}

static void fill_block(const struct staged_job *job, size_t piece, uint8_t *memory)
{
    memcpy(memory, linear_of(job)->host + offset_of(job, piece), staged_bytes_of(job, piece));
}

static void empty_block(const struct staged_job *job, size_t piece, uint8_t *memory)
{
    const struct copy_progress *progress = linear_of(job)->progress;
    uint8_t *host = linear_of(job)->host + offset_of(job, piece);
    size_t bytes = staged_bytes_of(job, piece);
    memcpy(host, memory, bytes);
    if (progress)
        progress->arrived(progress->argument, host, bytes);
}

static const struct staged_kind to_gpu = {.bytes = staged_bytes_of,
                                          .ask = ask_to,
                                          .move = fill_block};
static const struct staged_kind from_gpu = {.bytes = staged_bytes_of,
                                            .ask = ask_from,
                                            .move = empty_block};

static struct linear_job make_job(struct box_session *session, const struct staged_kind *kind,
                                  CUdeviceptr device, void *host, size_t size, size_t piece_size,
                                  CUstream stream)
{
    return (struct linear_job){.job = {.kind = kind,
                                       .session = session,
                                       .stream = stream,
                                       .total = size,
                                       .pieces = (size + piece_size - 1) / piece_size},
                               .device = device,
                               .host = host,
                               .piece_size = piece_size};
}

CUresult staged_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                          size_t size, CUstream stream)
{
    struct linear_job copy = make_job(session, &to_gpu, dst, (void *)src, size,
                                      staged_piece_size(session, size), stream);
    return staged_run(&copy.job, true);
}

// Starts a copy whose data are stored when a later call finds that they have arrived.
static CUresult owe(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                    CUstream stream)
{
    struct linear_job copy =
        make_job(session, &from_gpu, src, dst, size, session->staging->block_size, stream);
    struct staged_arrival arrival;
    while (staged_request(&copy.job, false, &arrival))
        block_owe(session, arrival.block, copy.host + offset_of(&copy.job, arrival.piece));
    return (CUresult)copy.job.result;
}

CUresult staged_from_device(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                            CUstream stream, bool wait, const struct copy_progress *progress)
{
    if (!wait)
        return owe(session, dst, src, size, stream);
    struct linear_job copy =
        make_job(session, &from_gpu, src, dst, size, staged_piece_size(session, size), stream);
    copy.progress = progress;
    return staged_run(&copy.job, false);
}
