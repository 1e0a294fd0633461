// SPDX-License-Identifier: BSD-3-Clause
// rgpu-spawner has given the worker a user of its own. The confinement is complete before the
// driver is loaded, so that it does not matter when code of others takes control.
#include "daemon/worker/confine/confine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/security/capabilities.h"
#include "daemon/worker/confine/calls.h"
#include "daemon/worker/confine/files.h"
#include "daemon/worker/core/setup.h"

enum { THREADS_MAX = 4096 };

static int set_limits(void)
{
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    const struct rlimit threads = {THREADS_MAX, THREADS_MAX};
    rlim_t memory = setup.worker.worker_memory ? (rlim_t)setup.worker.worker_memory : RLIM_INFINITY;
    const struct rlimit bytes = {memory, memory};

    // Memory that devices reach is locked. The supervisor has logged if that is limited.
    setrlimit(RLIMIT_MEMLOCK, &unlimited);
    // The kernel counts threads by user, and others' would count where we have none of our own.
    // Clients of one MPS daemon are one user.
    if (setup.user && !*setup.mps_pipe && setrlimit(RLIMIT_NPROC, &threads))
        return -errno;
    if (setup.worker.worker_memory &&
        (setrlimit(RLIMIT_DATA, &bytes) || setrlimit(RLIMIT_FSIZE, &bytes)))
        return -errno;
    return 0;
}

static int forbid_more(void)
{
    umask(0077);
    if (chdir("/") || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -errno;
    return 0;
}

// Returns true if a core of this process goes neither to a file nor to a handler. With the limit 0
// handlers get cores (core(5)).
static bool forbid_cores(void)
{
    const struct rlimit no_handler = {1, 1}, no_file = {0, 0};

    if (!setrlimit(RLIMIT_CORE, &no_handler))
        return true;
    setrlimit(RLIMIT_CORE, &no_file);
    return false;
}

// A process of the same user may look into a dumpable one, and handlers of cores get its memory.
// The driver needs the former to suspend this worker: a process of rgpu-suspender, of the worker's
// user, opens the worker's pipes in /proc. Other workers do not have the user, or have a Landlock
// domain of their own, out of which they cannot look. Clients of MPS share a user with the MPS
// daemon, and no driver suspends them. With command.filter_only_logs the supervisor reads the names
// of files in the worker's memory.
static int hide(bool files_restricted)
{
    bool apart = !*setup.mps_pipe && (setup.user || files_restricted);
    bool visible = (forbid_cores() && apart) || command.filter_only_logs;

    return prctl(PR_SET_DUMPABLE, visible, 0, 0, 0) ? -errno : 0;
}

int confine(char *text, size_t room)
{
    const char *step = "set limits";
    bool restricted = false;

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
        err = confine_files(command.filter_only_logs, &restricted);
    }
    if (!err) {
        step = "hide from other processes";
        err = hide(restricted);
    }
    if (!err) {
        step = "filter system calls";
        err = confine_calls();
    }
    if (err)
        snprintf(text, room, "cannot %s: %s", step, strerror(-err));
    return err;
}
