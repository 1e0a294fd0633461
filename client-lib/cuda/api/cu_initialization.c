// SPDX-License-Identifier: BSD-3-Clause
// Initialization and version.
#include <stdlib.h>

#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/copy/late_push.h"
#include "client-lib/cuda/work/callbacks.h"
#include "client-lib/cuda/work/crossing.h"
#include "client-lib/cuda/memory/peers.h"
#include "client-lib/cuda/report/tell.h"
#include "client-lib/cuda/session/gpu_work.h"
#include "client-lib/cuda/session/process.h"
#include "common/base/log.h"
#include "common/driver/integrity.h"
#include "version.h"

enum { NEWEST_DRIVER = 13000 }; // the driver version of this library

// A worker recognizes by this name that it was given this library instead of a driver.
RGPU_EXPORT extern const char rgpu_client_marker[];
const char rgpu_client_marker[] = "rgpu client " RGPU_VERSION;

__attribute__((constructor)) static void library_loaded(void)
{
    log_init("rgpu", LOG_LEVEL_OFF);
    log_level_from_environment();
}

static void session_is_lost(struct box_session *session)
{
    crossing_lost(session);
    peers_lost(session);
}

// Warns that tools injected by this variable see no remote GPUs: they query the driver by private
// interfaces that no box serves.
static void tell_injected(void)
{
    const char *path = secure_getenv("CUDA_INJECTION64_PATH");
    if (path && *path)
        tell_once(
            "profilers that are injected (CUDA_INJECTION64_PATH, as by Nsight) see nothing of remote GPUs: "
            "use RGPU_TRACE=file, or torch.profiler under rgpuctl run");
}

CUresult cuInit(unsigned int flags)
{
    static const struct session_listener listener = {
        .data_wanted = late_push_due,
        .event_reached = crossing_reached,
        .host_function_due = callback_due,
        .graph_calls = callback_event,
        .peer_frame = peers_frame,
        .peer_over = peers_over,
        .lost = session_is_lost,
    };
    tell_injected();
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = process_start(&listener);
    if (result == CUDA_SUCCESS)
        gpu_work_opened();
    return result;
}

CUresult cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    // Allowed before cuInit, when no box has been queried yet.
    int lowest = NEWEST_DRIVER;
    for (unsigned int i = 0; process_ready() == CUDA_SUCCESS && i < session_count; i++)
        if (sessions[i]->driver_version < lowest)
            lowest = sessions[i]->driver_version;
    *version = lowest;
    integrity_set_driver_version(lowest);
    return CUDA_SUCCESS;
}
