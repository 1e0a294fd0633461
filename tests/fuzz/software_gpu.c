// SPDX-License-Identifier: BSD-3-Clause
// See software_gpu.h.
#include "tests/fuzz/software_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/handle_table.h"
#include "common/log.h"
#include "worker/account/charge.h"
#include "worker/account/passage.h"
#include "worker/collect/site_comms.h"
#include "worker/driver_load.h"
#include "worker/execute/serve_context.h"
#include "worker/execute/serve_crossing.h"
#include "worker/execute/serve_linker.h"
#include "worker/execute/serve_memory.h"
#include "worker/execute/shared_events.h"
#include "worker/gpus.h"
#include "worker/move/mapped/client_memory.h"
#include "worker/move/mirrored/host_mirrors.h"
#include "worker/move/pinned.h"
#include "worker/peer/peer_jobs.h"
#include "worker/session.h"

// As worker/main.c does.
static void prepare(void)
{
    linker_prepare();
    memory_prepare();
    charges_prepare();
    passages_prepare();
    shared_events_prepare();
    crossing_prepare();
    site_comms_prepare();
    peer_jobs_prepare();
    host_memory_prepare();
    host_mirrors_prepare();
}

// Whatever the supervisor is asked fails at once.
static void lose_supervisor(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        abort();
    close(ends[1]);
    session.control = ends[0];
}

CUcontext software_gpu_start(const struct link_options *options)
{
    char path[4096], text[256], books[64];
    const char *build = getenv("BUILD");
    CUcontext context;

    log_set_level(LOG_LEVEL_OFF);
    setenv("RGPU_LOG", "off", 1); // of the software GPU
    setenv("RGPU_SIM_MEMORY", "64M", 1);
    setenv("RGPU_SIM_CONTEXT_COST", "1M", 1); // of which a context would leave nothing
    // Those of this user are shared with every other software GPU on the machine.
    snprintf(books, sizeof(books), "/dev/shm/rgpu-sim-fuzz-%d", (int)getpid());
    setenv("RGPU_SIM_STATE", books, 1);
    snprintf(path, sizeof(path), "%s/lib/libcuda-sim.so", build ? build : "build");
    if (driver_load(path, text, sizeof(text)))
        abort();
    prepare();
    lose_supervisor();
    if (gpus_discover() || shm_memory_new(options, &pinned.shm))
        abort();
    pinned.staging = shm_memory_staging(pinned.shm);
    if (gpu_primary(0, &context) || driver.cuCtxSetCurrent(context) || pinned_register())
        abort();
    unlink(books); // it is open
    session.device_count = 1;
    session.notes = calloc(HANDLE_INDEX_LIMIT, sizeof(*session.notes));
    if (!session.notes)
        abort();
    return context;
}
