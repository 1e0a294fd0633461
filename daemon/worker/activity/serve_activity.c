// SPDX-License-Identifier: BSD-3-Clause
// Requests for GPU activity.
#include "common/base/clock.h"
#include "daemon/worker/activity/activity.h"
#include "daemon/worker/activity/activity_store.h"
#include "daemon/worker/activity/cupti_source.h"
#include "worker_serve.h"

uint32_t activity_in_pieces(CUstream stream)
{
    if (!activity_is_noted() || !activity_call)
        return 0;
    store_place_call(activity_call, cupti_source_stream(stream));
    return activity_call;
}

void serve_activity_begin(struct serve *serve, const struct args_activity_begin *args)
{
    if (atomic_load(&activity_noted)) {
        serve_fail(serve, CUDA_ERROR_PROFILER_ALREADY_STARTED);
        return;
    }
    if (activity_store_open()) {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        return;
    }
    serve_fail(serve, cupti_source_start());
    if (serve_failed(serve)) {
        activity_store_close();
        return;
    }
    atomic_store(&activity_noted, true);
}

void serve_activity_end(struct serve *serve, const struct args_activity_end *args)
{
    if (!atomic_exchange(&activity_noted, false)) {
        serve_fail(serve, CUDA_ERROR_PROFILER_ALREADY_STOPPED);
        return;
    }
    cupti_source_stop();
    activity_store_close();
}

void serve_activity_clock(struct serve *serve, const struct args_activity_clock *args,
                          struct reply_activity_clock *reply)
{
    reply->now = clock_ns();
}

void serve_activity_fetch(struct serve *serve, const struct args_activity_fetch *args,
                          struct reply_activity_fetch *reply)
{
    uint32_t room = serve_reply_room(serve, args->reply_room);

    if (!atomic_load(&activity_noted)) {
        serve_fail(serve, CUDA_ERROR_PROFILER_ALREADY_STOPPED);
        return;
    }
    if (args->flush)
        cupti_source_flush();
    size_t used = store_take(serve->bytes, room, &reply->dropped, &reply->left);
    serve_reply_bytes(serve, serve->bytes, used);
}

void serve_activity_numbers(struct serve *serve, const struct args_activity_numbers *args,
                            struct reply_activity_numbers *reply, CUstream stream)
{
    if (!serve_failed(serve)) {
        reply->of_stream = cupti_source_stream(stream);
        reply->of_context = cupti_source_context(serve->current);
    }
    if (!reply->of_stream || !reply->of_context)
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
}
