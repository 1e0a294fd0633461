// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/programs.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/security/capabilities.h"
#include "common/net/control.h"
#include "common/base/log.h"
#include "common/base/program_path.h"
#include "common/base/spawn.h"
#include "daemon/rgpud/box/spawner_orders.h"

enum { ARGUMENTS_MAX = 256 };

void programs_own(const char *name, char *path, size_t size)
{
    char installed[128];
    const char *const candidates[] = {name, installed, NULL};

    snprintf(installed, sizeof(installed), "../libexec/rgpu/%s", name);
    program_path_find(candidates, path, size);
}

void programs_worker(const struct box_settings *settings, char *path, size_t size)
{
    if (settings->worker_program)
        snprintf(path, size, "%s", settings->worker_program);
    else
        programs_own("rgpu-worker", path, size);
}

void programs_driver(const struct box_settings *settings, bool software, char *path, size_t size)
{
    static const char *const simulators[] = {"../lib/rgpu/libcuda-sim.so", "../lib/libcuda-sim.so",
                                             "../../lib/rgpu/libcuda-sim.so", NULL};

    if (settings->driver)
        snprintf(path, size, "%s", settings->driver);
    else if (software)
        program_path_find(simulators, path, size);
    else
        snprintf(path, size, "libcuda.so.1");
}

void programs_mps_control(const struct box_settings *settings, bool software, char *path,
                          size_t size)
{
    static const char *const usual[] = {"/usr/bin/nvidia-cuda-mps-control",
                                        "/usr/local/nvidia/bin/nvidia-cuda-mps-control",
                                        "/usr/local/bin/nvidia-cuda-mps-control", NULL};

    if (settings->mps_control) {
        snprintf(path, size, "%s", settings->mps_control);
    } else if (software) {
        programs_own("rgpu-sim-mps-control", path, size);
    } else {
        const char *const *candidate = usual;
        while (candidate[1] && access(*candidate, X_OK))
            candidate++;
        snprintf(path, size, "%s", access(*candidate, X_OK) ? usual[0] : *candidate);
    }
}

void programs_box_name(const struct box_settings *settings, char *name, size_t size)
{
    if (settings->name)
        snprintf(name, size, "%s", settings->name);
    else if (gethostname(name, size - 1))
        snprintf(name, size, "box");
}

// ---- users ----

int programs_users(const struct box_settings *settings, struct worker_users *out)
{
    const char *text = settings->worker_uids;
    unsigned a, b;
    char rest;

    *out = (struct worker_users){0};
    if (!text || !strcmp(text, "none"))
        return 0;
    // The kernel takes the highest number as "no change".
    if (sscanf(text, "%10u-%10u%c", &a, &b, &rest) != 2 || !a || a > b || b >= UINT32_MAX - 1 ||
        b - a >= 1u << 20) {
        config_complain(settings_table, "workers", "worker_uids",
                        "worker_uids=%s is not a range of user numbers such as "
                        "2000000000-2000000999, or none",
                        text);
        return -EINVAL;
    }
    *out = (struct worker_users){a, b};
    return 0;
}

uid_t programs_mps_user(const struct worker_users *users, uint32_t ordinal)
{
    return users->first && users->last - users->first > 2 * CONTROL_DEVICES_MAX
               ? users->last - ordinal
               : 0;
}

bool programs_may_change_users(void)
{
    return capabilities_held(1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_KILL);
}

// ---- the environment ----

int programs_environment(const char *box_name, bool software, unsigned gpus)
{
    char count[16], state[16];

    snprintf(state, sizeof(state), "fd:%d", CONTROL_WORKER_DRIVER_FD);
    // The driver's disk cache is off, so that code compiled by one client's worker never runs for
    // another client.
    if (setenv("RGPU_SIM_STATE", state, 1) || setenv("CUDA_CACHE_DISABLE", "1", 1))
        return -ENOMEM;
    snprintf(count, sizeof(count), "%u", gpus);
    if (software && (setenv("RGPU_SIM_DEVICES", count, 1) || setenv("RGPU_SIM_HOST", box_name, 0)))
        return -ENOMEM;
    return 0;
}

// ---- the spawner ----

int programs_run_spawner(bool standalone, int argc, char **argv, const char *config, int *out)
{
    static char program[4096];
    char *arguments[ARGUMENTS_MAX] = {"rgpu-spawner", "--child"};
    int count = 2, ends[2];
    pid_t pid;

    if (argc + 8 > ARGUMENTS_MAX)
        return -E2BIG;
    if (standalone)
        arguments[count++] = "--standalone";
    if (config) {
        arguments[count++] = "--config";
        arguments[count++] = (char *)config;
    }
    for (int i = 1; i < argc; i++)
        arguments[count++] = argv[i];
    programs_own("rgpu-spawner", program, sizeof(program));
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
        return -errno;
    const struct spawn_request request = {
        .program = program,
        .arguments = arguments,
        .fds = (int[]){-1, STDERR_FILENO, STDERR_FILENO, [SPAWNER_ORDERS_FD] = ends[1]},
        .fd_count = SPAWNER_ORDERS_FD + 1,
        .own_process_group = true};
    int err = spawn_program(&request, &pid);
    close(ends[1]);
    if (err)
        close(ends[0]);
    else
        *out = ends[0];
    return err;
}
