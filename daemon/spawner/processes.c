// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/spawner/cgroup.h"
#include "daemon/spawner/spawner.h"

// Threads of one worker, or of an MPS daemon with its server.
enum { TASKS_MAX = 4096 };

struct spawned *spawned_find(const struct spawner *spawner, uint64_t number)
{
    struct spawned *process;

    TAILQ_FOREACH(process, &spawner->processes, link)
        if (process->number == number)
            return process;
    return NULL;
}

static struct spawned *find_pid(const struct spawner *spawner, pid_t pid)
{
    struct spawned *process;

    TAILQ_FOREACH(process, &spawner->processes, link)
        if (process->pid == pid && !process->ended)
            return process;
    return NULL;
}

static void group_name(uint64_t number, char name[32])
{
    snprintf(name, 32, "p%llx", (unsigned long long)number);
}

// worker_memory bounds a worker's private memory and, apart from it, the client's memory that it
// maps; both are refused within those limits, and the cgroup kills beyond their sum. An image of
// suspended sessions may go to the swap. Memory of a software GPU is memory of its workers, and of
// the process that touched it first.
static int make_group(const struct spawner *spawner, const struct spawner_order *order)
{
    struct cgroup_limits limits = {.tasks = TASKS_MAX};
    char name[32];

    if (spawner->cgroups < 0)
        return -1;
    if (order->kind == SPAWNER_WORKER && !spawner->choice.software)
        limits.memory = 2 * (limits.swap = spawner->settings.worker.worker_memory);
    group_name(order->number, name);
    int group = cgroup_make(spawner->cgroups, name, &limits);
    if (group < 0)
        log_error("cannot make cgroup %s error=\"%s\"", name, strerror(-group));
    return group < 0 ? -1 : group;
}

static int keep_descriptors(struct spawned *process, const int *fds)
{
    for (int i = 0; i < SPAWNER_KEPT; i++) {
        process->kept[i] = fcntl(fds[SPAWNER_KEPT_CONTROL + i], F_DUPFD_CLOEXEC, 3);
        if (process->kept[i] < 0)
            return -errno;
    }
    return 0;
}

static struct spawned *process_new(const struct spawner_order *order)
{
    struct spawned *process = calloc(1, sizeof(*process));

    if (!process)
        return NULL;
    *process = (struct spawned){.number = order->number, .kind = order->kind, .pidfd = -1};
    for (int i = 0; i < SPAWNER_KEPT; i++)
        process->kept[i] = -1;
    return process;
}

// rgpud does not see processes of other users in its own /proc.
int spawned_open_proc(pid_t pid)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int processes_check(const struct spawner *spawner, const struct spawner_order *order)
{
    if (spawner->process_count == SPAWNER_PROCESSES_MAX)
        return -EAGAIN;
    if (order->number < SPAWNER_PROCESSES)
        return -EINVAL;
    return spawned_find(spawner, order->number) ? -EEXIST : 0;
}

int spawned_start(struct spawner *spawner, const struct spawner_order *order, const int *fds,
                  size_t count, struct spawned **out, int *out_fd)
{
    struct child_start_request launch;
    int err = processes_check(spawner, order);

    *out_fd = -1;
    if (err)
        return err;
    struct spawned *process = process_new(order);
    if (!process)
        return -ENOMEM;
    err = kind_prepare(spawner, order, fds, count, &launch, out_fd);
    if (!err && order->kind == SPAWNER_WORKER)
        err = keep_descriptors(process, fds);
    if (!err) {
        SCOPED_FD int group = launch.cgroup = make_group(spawner, order);
        process->user = launch.changes_user ? launch.user : 0;
        err = child_start(&launch, &process->pid, &process->pidfd);
    }
    TAILQ_INSERT_TAIL(&spawner->processes, process, link);
    spawner->process_count++;
    if (err) {
        spawned_free(spawner, process);
        return err;
    }
    if (order->kind == SPAWNER_WORKER)
        *out_fd = spawned_open_proc(process->pid);
    *out = process;
    return 0;
}

void spawned_kill(const struct spawned *process)
{
    syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0);
}

void spawned_kill_all(const struct spawner *spawner)
{
    const struct spawned *process;

    TAILQ_FOREACH(process, &spawner->processes, link)
        spawned_kill(process);
}

static void spawner_store_clear(struct spawner_store *store)
{
    while (store->count)
        close(store->fds[--store->count]);
}

int spawner_store_set(struct spawner_store *store, const int *fds, size_t count)
{
    struct spawner_store fresh = {.count = 0};

    if (count > SPAWNER_STORE_MAX)
        return -E2BIG;
    for (; fresh.count < count; fresh.count++) {
        fresh.fds[fresh.count] = fcntl(fds[fresh.count], F_DUPFD_CLOEXEC, 3);
        if (fresh.fds[fresh.count] < 0) {
            int err = -errno;
            spawner_store_clear(&fresh);
            return err;
        }
    }
    spawner_store_clear(store);
    *store = fresh;
    return 0;
}

static void spawner_store_drop_own(struct own_store *own)
{
    LIST_REMOVE(own, link);
    spawner_store_clear(&own->store);
    free(own);
}

static struct own_store *find_own(const struct spawner *spawner, uint64_t number)
{
    struct own_store *own;

    LIST_FOREACH(own, &spawner->stores[number % SPAWNER_CHAINS], link)
        if (own->number == number)
            return own;
    return NULL;
}

int spawner_store_set_own(struct spawner *spawner, uint64_t number, const int *fds, size_t count)
{
    struct own_store *own = find_own(spawner, number);

    if (!own && !count)
        return 0;
    if (!own) {
        own = calloc(1, sizeof(*own));
        if (!own)
            return -ENOMEM;
        own->number = number;
        LIST_INSERT_HEAD(&spawner->stores[number % SPAWNER_CHAINS], own, link);
    }
    int err = spawner_store_set(&own->store, fds, count);
    if (!own->store.count)
        spawner_store_drop_own(own);
    return err;
}

void spawner_store_forget_own(struct spawner *spawner)
{
    struct own_store *own;

    for (int i = 0; i < SPAWNER_CHAINS; i++)
        while ((own = LIST_FIRST(&spawner->stores[i])))
            spawner_store_drop_own(own);
}

void spawned_give_up(struct spawned *process)
{
    spawner_store_clear(&process->store);
    for (int i = 0; i < SPAWNER_KEPT; i++) {
        if (process->kept[i] >= 0)
            close(process->kept[i]);
        process->kept[i] = -1;
    }
}

// Kills children that are in no list: an MPS supervisor or a suspender that was killed has left
// them.
static void kill_strangers(const struct spawner *spawner)
{
    int pid;
    SCOPED_FILE FILE *children = fopen("/proc/thread-self/children", "re");

    while (children && fscanf(children, "%d", &pid) == 1)
        if (!find_pid(spawner, pid))
            kill(pid, SIGKILL);
}

// Processes that an MPS supervisor left take a while to end, and its cgroup waits for them: it is
// removed with a later one.
static void sweep_groups(struct spawner *spawner)
{
    int copy = openat(spawner->cgroups, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    unsigned long long number;

    spawner->cgroups_remain = false;
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (sscanf(entry->d_name, "p%llx", &number) == 1 && !spawned_find(spawner, number))
            spawner->cgroups_remain |= !cgroup_remove(spawner->cgroups, entry->d_name);
    if (directory)
        closedir(directory);
}

static void remove_group(struct spawner *spawner, uint64_t number)
{
    char name[32];

    if (spawner->cgroups < 0)
        return;
    group_name(number, name);
    if (spawner->cgroups_remain)
        sweep_groups(spawner);
    else
        spawner->cgroups_remain = !cgroup_remove(spawner->cgroups, name);
}

// Returns true if processes of the suspender's group are left. They make calls for it until they
// end.
static bool has_left_processes(const struct spawned *process)
{
    return process->kind == SPAWNER_SUSPENDER && (!kill(-process->pid, 0) || errno == EPERM);
}

// Each process is reported before the next one is waited for: rgpud learns of an MPS supervisor's
// end before the processes that end with it are gone.
struct spawned *spawned_reap(struct spawner *spawner, int *status)
{
    struct spawned *process;
    pid_t pid;

    while ((pid = waitpid(-1, status, WNOHANG)) > 0) {
        process = find_pid(spawner, pid);
        if (!process)
            continue;
        kind_forget_member(spawner, pid);
        if (process->kind != SPAWNER_WORKER)
            kill_strangers(spawner);
        if (!has_left_processes(process))
            return process;
        process->ended = true;
        process->status = *status;
    }
    TAILQ_FOREACH(process, &spawner->processes, link)
        if (process->ended && !has_left_processes(process)) {
            *status = process->status;
            return process;
        }
    return NULL;
}

void spawned_free(struct spawner *spawner, struct spawned *process)
{
    TAILQ_REMOVE(&spawner->processes, process, link);
    spawner->process_count--;
    remove_group(spawner, process->number);
    spawned_give_up(process);
    if (process->pidfd >= 0)
        close(process->pidfd);
    free(process);
}
