// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/copy/parts/wait_for_gpu.h"

#include <sched.h>

#include "common/base/wait.h"
#include "transport/link/link.h"
#include "daemon/worker/copy/parts/semaphores.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"

// Recent times that requests have waited for the GPU.
static struct wait_estimate estimate;

// Returns true to query again: the time is not over and no request has arrived. After a moment it
// yields the processor, which the GPU's thread may need.
static bool ask_again(uint64_t start, uint64_t ns)
{
    uint64_t passed = clock_ns() - start;

    if (passed >= ns || link_pending(session.link))
        return false;
    if (passed >= (uint64_t)setup_spin_us() * 1000)
        sched_yield();
    return true;
}

CUresult serve_ask_a_while(struct serve *serve,
                           CUresult (*query)(struct serve *serve, const void *args),
                           const void *args)
{
    uint64_t start = clock_ns(), ns = wait_estimate_spin_ns(&estimate, setup_spin_us());
    CUresult result;

    while ((result = query(serve, args)) == CUDA_ERROR_NOT_READY && ask_again(start, ns))
        ;
    return result;
}

enum { AT_ONCE_NS = 40000, CHANGE_NS = 4000 };

// Returns true if the previous question was the same, AT_ONCE_NS ago or later.
static bool is_asked_again(const void *subject, uint64_t now)
{
    static const void *asked;
    static uint64_t when;
    bool again = subject == asked && now - when < AT_ONCE_NS;
    asked = subject;
    when = now;
    return again;
}

CUresult serve_ask_for_change(struct serve *serve,
                              CUresult (*query)(struct serve *serve, const void *subject),
                              const void *subject)
{
    CUresult result = query(serve, subject);

    if (result != CUDA_ERROR_NOT_READY)
        return result;
    uint64_t start = clock_ns(), ns = is_asked_again(subject, start) ? CHANGE_NS : 0;
    while (result == CUDA_ERROR_NOT_READY && ask_again(start, ns))
        result = query(serve, subject);
    return result;
}

void serve_note_wait(uint64_t ns)
{
    wait_estimate_add(&estimate, ns);
}

static CUresult query_stream(struct serve *serve, const void *stream)
{
    return driver.cuStreamQuery((CUstream)stream);
}

static CUresult poll_stream(CUstream stream, uint64_t deadline)
{
    static const struct timespec pause = {0, 50000};
    CUresult result;

    while ((result = driver.cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY && clock_ns() < deadline)
        nanosleep(&pause, NULL);
    return result;
}

CUresult serve_wait_stream(struct serve *serve, CUstream stream)
{
    return serve_wait_stream_for(serve, stream, -1);
}

CUresult serve_wait_stream_for(struct serve *serve, CUstream stream, int timeout_ms)
{
    CUresult result = CUDA_ERROR_NOT_READY;
    uint64_t start = clock_ns();

    if (driver.cuStreamQuery && serve->reading)
        result = serve_ask_a_while(serve, query_stream, stream);
    if (result == CUDA_ERROR_NOT_READY) {
        serve_let_others_read(serve);
        result = timeout_ms < 0 || !driver.cuStreamQuery
                     ? driver.cuStreamSynchronize(stream)
                     : poll_stream(stream, deadline_from(start, timeout_ms));
    }
    wait_estimate_add(&estimate, clock_ns() - start);
    return result;
}

void serve_let_others_read(struct serve *serve)
{
    if (serve->reading)
        serve->reader->let_others_read(serve);
}

void serve_sync_begins(struct serve *serve)
{
    struct semaphore_sync sync;

    // Asked for first, so that what is read later comes later.
    if (semaphores_ask_sync(&sync))
        return;
    serve_let_others_read(serve);
    semaphores_await_sync(&sync);
}

void serve_sync_ended(void)
{
    semaphores_sync_ended();
}
