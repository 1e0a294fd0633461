// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/main/parts.h"

#include "daemon/worker/account/graph_walk.h"
#include "daemon/worker/account/library_cost.h"
#include "daemon/worker/account/passage.h"
#include "daemon/worker/account/stream_cost.h"
#include "daemon/worker/collect/site_comms.h"
#include "daemon/worker/copy/mapped/client_memory.h"
#include "daemon/worker/copy/mirrored/host_mirrors.h"
#include "daemon/worker/execute/library_use.h"
#include "daemon/worker/execute/serve_crossing.h"
#include "daemon/worker/execute/serve_linker.h"
#include "daemon/worker/execute/serve_memory.h"
#include "daemon/worker/execute/shared_events.h"
#include "daemon/worker/graphs/graph_parts.h"
#include "daemon/worker/peer/kernel_windows.h"
#include "daemon/worker/peer/peer_jobs.h"
#include "daemon/worker/peer/peer_windows.h"

void parts_prepare(void)
{
    linker_prepare();
    memory_prepare();
    graph_walk_prepare(part_graphs);
    library_costs_prepare();
    stream_costs_prepare();
    library_uses_prepare();
    passages_prepare();
    shared_events_prepare();
    crossing_prepare();
    site_comms_prepare();
    peer_jobs_prepare();
    peer_windows_prepare();
    kernel_windows_prepare();
    host_memory_prepare();
    host_mirrors_prepare();
}
