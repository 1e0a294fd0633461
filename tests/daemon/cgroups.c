// SPDX-License-Identifier: BSD-3-Clause
// A process that rgpu-spawner starts in its own cgroup has limited memory, files in memory
// included, and a limited number of threads. Its child processes end when the cgroup is removed.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mntent.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/spawner/cgroup.h"
#include "daemon/spawner/child_start.h"
#include "tests/tap.h"

enum { MEMORY = 64 << 20, TOTAL = 160 << 20, HOLDERS = 4, TASKS = 16, CHILD_OUTPUT_FD = 1 };

static char place[512]; // the cgroup that stands for the unit's
static pid_t owner;

// ---- the children ----

static int take_memory(size_t bytes)
{
    // As two files: the limit of a file's size does not bound their sum.
    for (int i = 0; i < 2; i++) {
        int fd = memfd_create("hostile", MFD_CLOEXEC);
        char *memory = ftruncate(fd, (off_t)bytes / 2)
                           ? MAP_FAILED
                           : mmap(NULL, bytes / 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED)
            return 2;
        memset(memory, 1, bytes / 2);
    }
    return 0;
}

// Returns how many processes of 2 * TASKS were refused. Those that there are stay.
static int take_tasks(void)
{
    int refused = 0;

    for (int i = 0; i < 2 * TASKS; i++) {
        pid_t pid = fork();
        if (!pid)
            for (;;)
                pause();
        refused += pid < 0;
    }
    return refused;
}

static int act(const char *what)
{
    char done = 'x';

    if (!strcmp(what, "little"))
        return take_memory(MEMORY / 2);
    if (!strcmp(what, "much"))
        return take_memory((size_t)MEMORY * 4);
    int refused = strcmp(what, "hold") ? take_tasks() : take_memory(MEMORY / 4 * 3);
    if (!strcmp(what, "tasks"))
        return refused;
    // A process that stays with its children until it is killed.
    if (write(CHILD_OUTPUT_FD, &done, 1) == 1)
        for (;;)
            pause();
    return 2;
}

// ---- the test's side ----

static void write_text(const char *directory, const char *file, const char *text)
{
    char path[700];

    snprintf(path, sizeof(path), "%s/%s", directory, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, text, strlen(text)) < 0)
        diag("%s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
}

static bool has_controller(const char *name)
{
    char path[600], line[512] = " ", wanted[32];

    snprintf(path, sizeof(path), "%s/cgroup.controllers", place);
    snprintf(wanted, sizeof(wanted), " %s ", name);
    SCOPED_FILE FILE *file = fopen(path, "re");
    if (!file || !fgets(line + 1, sizeof(line) - 2, file))
        return false;
    line[strcspn(line, "\n")] = ' ';
    return strstr(line, wanted) != NULL;
}

static void clean_up(void)
{
    char path[600];

    if (getpid() != owner)
        return;
    write_text(place, "../cgroup.procs", "0");
    snprintf(path, sizeof(path), "%s/spawner", place);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/workers", place);
    rmdir(path);
    rmdir(place);
}

// Makes a cgroup below the first mount of cgroup v2, as systemd does for a unit with Delegate=.
static void find_place(void)
{
    struct mntent *entry;
    FILE *mounts = setmntent("/proc/mounts", "re");
    char root[256] = "";

    while (mounts && !*root && (entry = getmntent(mounts)))
        if (!strcmp(entry->mnt_type, "cgroup2"))
            snprintf(root, sizeof(root), "%s", entry->mnt_dir);
    if (mounts)
        endmntent(mounts);
    if (!*root)
        skip_all("there is no cgroup v2");
    snprintf(place, sizeof(place), "%s/rgpu-test.%d", root, (int)getpid());
    for (int i = 0; i < 3; i++)
        write_text(root, "cgroup.subtree_control", (const char *[]){"+memory", "+pids", "+cpu"}[i]);
    if (mkdir(place, 0755))
        skip_all("no cgroup can be made below %s: %s", root, strerror(errno));
    owner = getpid();
    atexit(clean_up);
}

static int start(int root, const char *name, const char *what, pid_t *pid, int *output)
{
    static const struct cgroup_limits limits = {.memory = MEMORY,
                                                .swap = MEMORY / 2,
                                                .tasks = TASKS};
    char *arguments[] = {"cgroups", (char *)what, NULL};
    int ends[2], pidfd;
    SCOPED_FD int group = cgroup_make(root, name, &limits);

    if (group < 0 || pipe2(ends, O_CLOEXEC))
        bail("no cgroup or pipe");
    const struct child_start_request request = {.program = "/proc/self/exe",
                                                .arguments = arguments,
                                                .fds = (int[]){-1, ends[1], STDERR_FILENO},
                                                .fd_count = 3,
                                                .cgroup = group};
    int err = child_start(&request, pid, &pidfd);
    close(ends[1]);
    if (!err)
        close(pidfd);
    *output = ends[0];
    return err;
}

static int run_child(int root, const char *what)
{
    int status = -1, output;
    pid_t pid;

    if (start(root, "child", what, &pid, &output))
        bail("the child does not start");
    waitpid(pid, &status, 0);
    close(output);
    while (!cgroup_remove(root, "child"))
        ;
    return status;
}

static void check_memory(int root)
{
    if (!has_controller("memory")) {
        skip(2, "memory is not a controller of cgroup v2 here");
        return;
    }
    is_int(run_child(root, "little"), 0, "a process has less memory than its limit");
    int status = run_child(root, "much");
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
       "one that takes more, in files each of which is within no limit of a file, is killed");
}

// Each of them has less than its own limit.
static void check_memory_of_all(int root)
{
    char name[HOLDERS][16], c;
    int output[HOLDERS], status, held = 0;
    pid_t pid[HOLDERS];

    if (!has_controller("memory")) {
        skip(1, "memory is not a controller of cgroup v2 here");
        return;
    }
    for (int i = 0; i < HOLDERS; i++) {
        snprintf(name[i], sizeof(name[i]), "holder-%d", i);
        if (start(root, name[i], "hold", &pid[i], &output[i]))
            bail("the child does not start");
        held += read(output[i], &c, 1) == 1;
    }
    int killed = 0;
    for (int i = 0; i < HOLDERS; i++)
        killed += waitpid(pid[i], &status, WNOHANG) == pid[i];
    ok(held > 1 && killed >= 1, "processes that take more than all may have are killed, %d of %d",
       killed, HOLDERS);
    for (int i = 0; i < HOLDERS; i++) {
        while (!cgroup_remove(root, name[i]))
            ;
        waitpid(pid[i], &status, 0);
        close(output[i]);
    }
}

static void check_tasks(int root)
{
    if (!has_controller("pids")) {
        skip(1, "pids is not a controller of cgroup v2 here");
        return;
    }
    int status = run_child(root, "tasks");
    ok(WIFEXITED(status) && WEXITSTATUS(status) >= TASKS,
       "a process has no more tasks than its limit");
}

static void check_birth_and_end(int root)
{
    char path[64], line[512], c;
    int output, status;
    pid_t pid;

    is_int(start(root, "family", "family", &pid, &output), 0, "a process starts in a cgroup");
    is_int(read(output, &c, 1), 1, "and starts others");
    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    SCOPED_FILE FILE *file = fopen(path, "re");
    bool inside = false;
    while (file && fgets(line, sizeof(line), file))
        inside |= !strncmp(line, "0::", 3) && strstr(line, "/workers/family\n");
    ok(inside, "it is in the cgroup that was made for it, below that of all");
    if (!inside)
        kill(-pid, SIGKILL);
    while (!cgroup_remove(root, "family"))
        ;
    is_int(waitpid(pid, &status, 0), pid, "removing the cgroup ends it");
    // Its children have the other end of the pipe, too.
    is_int(read(output, &c, 1), 0, "with all that it has started");
    close(output);
}

// As RestrictNamespaces= of a systemd unit and the filters of containers do.
static void lose_clone3(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof(code) / sizeof(*code), .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        bail("no filter of system calls can be set");
    is_int(syscall(SYS_clone3, NULL, 0), -1, "without clone3()");
}

int main(int argc, char **argv)
{
    log_init("cgroups", LOG_LEVEL_WARN);
    if (argc > 1)
        return act(argv[1]);
    find_place();
    int root = cgroup_open_at(place, TOTAL);
    if (root < 0)
        bail("no cgroups below %s: %s", place, strerror(-root));
    check_birth_and_end(root);
    check_memory(root);
    check_memory_of_all(root);
    check_tasks(root);
    lose_clone3();
    check_birth_and_end(root);
    close(root);
    return done();
}
