// SPDX-License-Identifier: BSD-3-Clause
// The confinement of a worker: limits, then files and system calls; rgpu-spawner has given it a user of its own. It is
// complete before the driver is loaded, so that nothing depends on when foreign code gets the upper hand.
#include "worker/confine/confine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/capabilities.h"
#include "worker/confine/calls.h"
#include "worker/confine/files.h"
#include "worker/setup.h"

enum { THREADS_MAX = 4096 };

static int set_limits(void)
{
    const struct rlimit none = {0, 0}, unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    const struct rlimit threads = {THREADS_MAX, THREADS_MAX};
    rlim_t memory = setup.worker.worker_memory ? (rlim_t)setup.worker.worker_memory : RLIM_INFINITY;
    const struct rlimit bytes = {memory, memory};

    // Memory that devices reach is locked. The supervisor has told where that is limited.
    setrlimit(RLIMIT_MEMLOCK, &unlimited);
    // The kernel counts threads by user, and others' would count where we have none of our own. Clients of one MPS
    // daemon are one user.
    if (setup.user && !*setup.mps_pipe && setrlimit(RLIMIT_NPROC, &threads))
        return -errno;
    if (setup.worker.worker_memory &&
        (setrlimit(RLIMIT_DATA, &bytes) || setrlimit(RLIMIT_FSIZE, &bytes)))
        return -errno;
    return setrlimit(RLIMIT_CORE, &none) ? -errno : 0;
}

static int forbid_more(void)
{
    umask(0077);
    if (chdir("/") || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -errno;
    // Who learns what the driver does has to read the names of files in our memory.
    if (!command.filter_only_logs && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return -errno;
    return 0;
}

int confine(char *text, size_t room)
{
    const char *step = "set limits";

    confine_files_open();
    int err = set_limits();
    if (!err) {
        step = "drop capabilities";
        err = capabilities_drop();
    }
    if (!err) {
        step = "forbid new privileges";
        err = forbid_more();
    }
    if (!err) {
        step = "restrict files";
        err = confine_files(command.filter_only_logs);
    }
    if (!err) {
        step = "filter system calls";
        err = confine_calls();
    }
    if (err)
        snprintf(text, room, "cannot %s: %s", step, strerror(-err));
    return err;
}
