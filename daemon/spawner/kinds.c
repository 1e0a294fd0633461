// SPDX-License-Identifier: BSD-3-Clause
// The three kinds of processes: their programs, arguments, descriptors and users. All members of an
// order are checked before a process is created. Programs, libraries and directories come from the
// settings, never from the order.
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/net/control.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/workers/mps_settings.h"
#include "daemon/spawner/spawner.h"

static int kinds_refuse(const struct spawner_order *order, const char *why)
{
    log_error("order refused number=%llu kind=%u reason=\"%s\"", (unsigned long long)order->number,
              order->kind, why);
    return -EPERM;
}

static bool kinds_is_of_type(int fd, mode_t type)
{
    struct stat status;

    return !fstat(fd, &status) && (status.st_mode & S_IFMT) == type;
}

// ---- workers ----

static bool is_mps_client(const struct spawner *spawner, const struct spawner_order *order)
{
    return order->mps && order->gpu < SPAWNER_GPUS_MAX &&
           mps_is_set(&spawner->settings, order->gpu);
}

static bool user_is_right(const struct spawner *spawner, const struct spawner_order *order)
{
    const struct worker_users *users = &spawner->users;

    if (order->mps)
        return is_mps_client(spawner, order) && order->user == programs_mps_user(users, order->gpu);
    if (!users->first)
        return !order->user;
    return order->user >= users->first && order->user <= users->last &&
           !mps_has_user(&spawner->settings, users, order->user);
}

static int prepare_worker(struct spawner *spawner, const struct spawner_order *order,
                          const int *fds, size_t count, struct child_start_request *launch)
{
    static char name[] = "rgpu-worker", refuse_calls[] = "refuse", log_calls[] = "log", none[] = "";
    const struct box_settings *settings = &spawner->settings;
    bool only_logs = settings->worker.worker_filter == CONTROL_WORKER_FILTER_LOG;
    static char *arguments[CONTROL_WORKER_ARGUMENTS + 1];
    static int placed[CONTROL_WORKER_CLIENTS_FD + 1];

    if (count != SPAWNER_WORKER_FDS && count != SPAWNER_CLIENTS)
        return kinds_refuse(order, "a worker has other descriptors");
    if (!kinds_is_of_type(fds[SPAWNER_CONTROL], S_IFSOCK) ||
        !kinds_is_of_type(fds[SPAWNER_REFUSALS], S_IFSOCK) ||
        !kinds_is_of_type(fds[SPAWNER_OUTPUT], S_IFIFO))
        return kinds_refuse(order, "a worker's descriptors are sockets and a pipe");
    if (!user_is_right(spawner, order))
        return kinds_refuse(order, "the user is not one of worker_uids");
    arguments[0] = name;
    arguments[1] = spawner->driver;
    arguments[2] = settings->cupti ? settings->cupti : none;
    arguments[3] = settings->nccl ? settings->nccl : none;
    arguments[4] = only_logs ? log_calls : refuse_calls;
    placed[0] = -1;
    placed[1] = placed[2] = fds[SPAWNER_OUTPUT];
    placed[CONTROL_WORKER_SUPERVISOR_FD] = fds[SPAWNER_CONTROL];
    placed[CONTROL_WORKER_DRIVER_FD] = fds[SPAWNER_DRIVER];
    placed[CONTROL_WORKER_REFUSALS_FD] = fds[SPAWNER_REFUSALS];
    placed[CONTROL_WORKER_LIBRARY_FD] = spawner->driver_file;
    placed[CONTROL_WORKER_CLIENTS_FD] = count > SPAWNER_CLIENTS ? fds[SPAWNER_CLIENTS] : -1;
    *launch = (struct child_start_request){.program = spawner->worker,
                                           .arguments = arguments,
                                           .fds = placed,
                                           .fd_count = sizeof(placed) / sizeof(*placed),
                                           .changes_user = order->user != 0,
                                           .user = order->user,
                                           .groups = true,
                                           .cgroup = -1};
    return 0;
}

// ---- MPS supervisors ----

// Opens the directory, which is made where it is missing. It belongs to us; its group has the
// number of the daemon's user. An entry of another owner, or a link, is refused.
static int kinds_open_folder(int parent, const char *name, gid_t group, mode_t mode)
{
    struct stat status;
    gid_t before = (gid_t)setfsgid(group);
    int err = mkdirat(parent, name, mode) && errno != EEXIST ? -errno : 0;

    setfsgid(before);
    if (err)
        return err;
    SCOPED_FD int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status))
        return -errno;
    if (status.st_uid != geteuid() || status.st_gid != group || fchmod(fd, mode))
        return -EPERM;
    return scoped_take_fd(&fd);
}

// Opens mps_directory, which only its owner may write.
static int open_directory_of_all(const char *path)
{
    struct stat status;

    if (!mkdir(path, 0711) && chmod(path, 0711))
        return -errno;
    SCOPED_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status))
        return -errno;
    if (status.st_mode & (S_IWGRP | S_IWOTH) || (status.st_uid && status.st_uid != geteuid()))
        return -EPERM;
    return scoped_take_fd(&fd);
}

// Makes DIRECTORY/GPU, which the daemon's user may only search, and in it "pipe" and "log", in
// which the daemon may write: so it can replace neither of them. Processes that have the descriptor
// of the first may search "pipe", as rgpud does for the socket.
static int make_folders(const char *path, uint32_t gpu, gid_t group, int *out_pipe)
{
    char number[16];

    snprintf(number, sizeof(number), "%u", gpu);
    SCOPED_FD int all = open_directory_of_all(path);
    if (all < 0)
        return all;
    SCOPED_FD int own = kinds_open_folder(all, number, group, 0750);
    if (own < 0)
        return own;
    SCOPED_FD int log = kinds_open_folder(own, "log", group, 0770);
    if (log < 0)
        return log;
    *out_pipe = kinds_open_folder(own, "pipe", group, 0771);
    return *out_pipe < 0 ? *out_pipe : 0;
}

static int prepare_mps(struct spawner *spawner, const struct spawner_order *order, const int *fds,
                       size_t count, struct child_start_request *launch, int *out_fd)
{
    static char name[] = "rgpu-mps", directory[128], uuid[48], check[24], timeout[24];
    static char *arguments[] = {name, NULL, directory, uuid, check, timeout, NULL};
    static int placed[3];
    const struct box_settings *settings = &spawner->settings;

    if (count != SPAWNER_MPS_FDS || order->gpu >= SPAWNER_GPUS_MAX ||
        !mps_is_set(settings, order->gpu))
        return kinds_refuse(order, "the GPU is not shared by MPS");
    if (!kinds_is_of_type(fds[SPAWNER_MPS_INPUT], S_IFIFO) ||
        !kinds_is_of_type(fds[SPAWNER_MPS_OUTPUT], S_IFIFO))
        return kinds_refuse(order, "an MPS supervisor's descriptors are pipes");
    uid_t user = programs_mps_user(&spawner->users, order->gpu);
    int err = make_folders(settings->mps_directory, order->gpu, user ? user : getegid(), out_fd);
    if (err)
        return err;
    arguments[1] = spawner->mps_control;
    snprintf(directory, sizeof(directory), "%s/%u", settings->mps_directory, order->gpu);
    device_uuid_text(order->uuid, uuid);
    snprintf(check, sizeof(check), "%llu", (unsigned long long)settings->mps_check / 1000);
    snprintf(timeout, sizeof(timeout), "%llu", (unsigned long long)settings->mps_timeout / 1000);
    placed[0] = fds[SPAWNER_MPS_INPUT];
    placed[1] = fds[SPAWNER_MPS_OUTPUT];
    placed[2] = STDERR_FILENO;
    *launch = (struct child_start_request){.program = spawner->mps_supervisor,
                                           .arguments = arguments,
                                           .fds = placed,
                                           .fd_count = sizeof(placed) / sizeof(*placed),
                                           .changes_user = user != 0,
                                           .user = user,
                                           .groups = true,
                                           .cgroup = -1};
    return 0;
}

// ---- suspenders ----

void kind_forget_members(struct spawner *spawner)
{
    while (spawner->member_count)
        free(spawner->members[--spawner->member_count]);
}

// Removes the argument of a worker that has ended: another process may get its number.
void kind_forget_member(struct spawner *spawner, pid_t pid)
{
    for (size_t i = spawner->member_count; i-- > 0;)
        if (strtol(spawner->members[i], NULL, 10) == pid) {
            free(spawner->members[i]);
            spawner->members[i] = spawner->members[--spawner->member_count];
        }
}

// The argument is PID@USER:GPU-...=GPU-...,...
int kind_add_member(struct spawner *spawner, const struct spawned *process,
                    const struct spawner_order *order)
{
    char *text = NULL, from[48], to[48];
    size_t size;

    if (process->kind != SPAWNER_WORKER || spawner->member_count == SPAWNER_MEMBERS_MAX ||
        order->pair_count > SPAWNER_GPUS_MAX)
        return kinds_refuse(order, "it is no worker that can be suspended");
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return -ENOMEM;
    fprintf(out, "%d@%u", (int)process->pid, (unsigned)process->user);
    for (uint32_t i = 0; i < order->pair_count; i++) {
        device_uuid_text(order->pairs[i].from, from);
        device_uuid_text(order->pairs[i].to, to);
        fprintf(out, "%s%s=%s", i ? "," : ":", from, to);
    }
    if (fclose(out)) {
        free(text);
        return -ENOMEM;
    }
    spawner->members[spawner->member_count++] = text;
    return 0;
}

// The suspender starts a process for each user of workers, and gives both capabilities up then.
static int prepare_suspender(struct spawner *spawner, const struct spawner_order *order,
                             const int *fds, size_t count, struct child_start_request *launch)
{
    static const char *const acts[] = {
        [SPAWNER_SUSPEND] = "suspend", [SPAWNER_RESUME] = "resume", [SPAWNER_SETTLE] = "settle"};
    enum { OTHERS = 4 };
    static char name[] = "rgpu-suspender", act[16], timeout[16];
    static char *arguments[OTHERS + SPAWNER_MEMBERS_MAX + 1];
    static int placed[CONTROL_WORKER_DRIVER_FD + 1];

    if (count != SPAWNER_SUSPENDER_FDS || order->act > SPAWNER_SETTLE)
        return kinds_refuse(order, "there is nothing of the kind to do");
    if (!kinds_is_of_type(fds[SPAWNER_SUSPENDER_OUTPUT], S_IFIFO))
        return kinds_refuse(order, "a suspender's output is a pipe");
    if (!spawner->member_count)
        return -ESRCH;
    snprintf(act, sizeof(act), "%s", acts[order->act]);
    snprintf(timeout, sizeof(timeout), "%u", order->timeout_ms);
    arguments[0] = name;
    arguments[1] = act;
    arguments[2] = timeout;
    arguments[3] = spawner->driver;
    memcpy(arguments + OTHERS, spawner->members, spawner->member_count * sizeof(*arguments));
    arguments[OTHERS + spawner->member_count] = NULL;
    placed[0] = placed[3] = -1;
    placed[1] = fds[SPAWNER_SUSPENDER_OUTPUT];
    placed[2] = STDERR_FILENO;
    placed[CONTROL_WORKER_DRIVER_FD] = spawner->choice.software ? fds[SPAWNER_SUSPENDER_DRIVER]
                                                                : -1;
    *launch = (struct child_start_request){.program = spawner->suspender,
                                           .arguments = arguments,
                                           .fds = placed,
                                           .fd_count = sizeof(placed) / sizeof(*placed),
                                           .changes_user = spawner->changes_users,
                                           .user = 0,
                                           .capabilities = 1u << CAP_SETUID | 1u << CAP_SETGID,
                                           .groups = true,
                                           .cgroup = -1};
    return 0;
}

int kind_prepare(struct spawner *spawner, const struct spawner_order *order, const int *fds,
                 size_t count, struct child_start_request *launch, int *out_fd)
{
    *out_fd = -1;
    switch (order->kind) {
    case SPAWNER_WORKER: return prepare_worker(spawner, order, fds, count, launch);
    case SPAWNER_MPS: return prepare_mps(spawner, order, fds, count, launch, out_fd);
    case SPAWNER_SUSPENDER: return prepare_suspender(spawner, order, fds, count, launch);
    }
    return kinds_refuse(order, "there is no such kind");
}
