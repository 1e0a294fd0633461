// SPDX-License-Identifier: BSD-3-Clause
// See software_gpu.h.
#include "tests/fuzz/software_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/handle_table.h"
#include "common/base/log.h"
#include "daemon/worker/core/driver_load.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/main/parts.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "daemon/worker/core/session.h"

// Makes every request to the supervisor fail at once.
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
    parts_prepare();
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
