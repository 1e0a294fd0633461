// SPDX-License-Identifier: BSD-3-Clause
// rgpu-mps-keeper: keeps the MPS daemon of one GPU. rgpu-spawner starts one for each such GPU, as the daemon's user; it
// starts the daemon in the foreground, looks now and then how it is, and takes it and all that it started along when it
// ends. A process of its own, since rgpud waits for nobody and must not be the daemon's user. Its end is the daemon's:
// rgpud then has another one started. It ends when its standard input does, on which it takes
//
//     look                     there may be a server now; it looks after any other line, too
//     terminate PID            a client is to end, and what it has the GPU do
//
// On standard output:
//
//     daemon PID               it was started, and has a process group of that number
//     ready                    clients are taken
//     server PID STATUS        the daemon's server and how it is; PID 0: there is none at the moment
//     ends REASON              the last line, unless rgpud wanted the end
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/program.h"
#include "common/scope.h"
#include "common/spawn.h"

enum {
    REPLY_ROOM = 4096,
    LOOK_MS = 20, // at a daemon that is starting
    TERMINATE_MS = 1000,
    GOODBYE_MS = 2000, // for a daemon that is asked to end
};

static struct {
    char *control;
    const char *directory;
    int check_ms, patience_ms;
    pid_t daemon; // 0: it has ended
    int status;   // how
    int signals;
    pid_t server;
    char server_status[64];
    bool leaving; // the end of standard input has been seen
} keeper;

static const struct program_about about = {
    .name = "rgpu-mps-keeper",
    .usage = "usage: rgpu-mps-keeper CONTROL DIRECTORY GPU CHECK_MS PATIENCE_MS\n"
             "Keeps the MPS daemon of one GPU; rgpu-spawner starts it, as the daemon's user.\n",
};

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

// ---- the daemon's folders ----

// They are there already: rgpu-spawner has made them, belongs to another user, and lets this one write in these two and not
// beside them. A link in their place is not followed.
static int open_folder(int parent, const char *name, const char *variable)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/%s", keeper.directory, name);
    SCOPED_FD int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (n < 0 || (size_t)n >= sizeof(path))
        return -ENAMETOOLONG;
    return setenv(variable, path, 1) ? -ENOMEM : scoped_take_fd(&fd);
}

// What an earlier daemon left would be taken for this one's. Links are removed, and not what they lead to.
static void clear_folder(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);

    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_type != DT_DIR)
            unlinkat(fd, entry->d_name, 0);
    if (folder)
        closedir(folder);
}

static int prepare_folders(void)
{
    SCOPED_FD int own = open(keeper.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    umask(0007);
    if (own < 0)
        return -errno;
    SCOPED_FD int pipe = open_folder(own, "pipe", "CUDA_MPS_PIPE_DIRECTORY");
    if (pipe < 0)
        return pipe;
    clear_folder(pipe);
    SCOPED_FD int log = open_folder(own, "log", "CUDA_MPS_LOG_DIRECTORY");
    return log < 0 ? log : 0;
}

// ---- the daemon ----

static int start_daemon(void)
{
    char foreground[] = "-f";
    char *arguments[] = {keeper.control, foreground, NULL};
    const struct spawn_request request = {.program = keeper.control,
                                          .arguments = arguments,
                                          .fds = (int[]){-1, STDERR_FILENO, STDERR_FILENO},
                                          .fd_count = 3,
                                          .own_process_group = true};

    return spawn_program(&request, &keeper.daemon);
}

static void take_signals(void)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    while (read(keeper.signals, &info, sizeof(info)) > 0)
        ;
    // Whatever the daemon leaves behind becomes our child.
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == keeper.daemon) {
            keeper.daemon = 0;
            keeper.status = status;
        }
}

// Waits for the descriptor (-1: none) to have something. False: time is up, we are not wanted, or the daemon is gone.
static bool await_either(int fd, bool want_input, int64_t deadline_ms)
{
    struct pollfd ready[] = {{.fd = fd, .events = POLLIN},
                             {.fd = keeper.leaving ? -1 : STDIN_FILENO,
                              .events = want_input ? POLLIN : 0},
                             {.fd = keeper.signals, .events = POLLIN}};

    for (;;) {
        int64_t left = deadline_ms - clock_ms();
        if (left <= 0)
            return false;
        if (poll(ready, 3, (int)left) < 0 && errno != EINTR)
            return false;
        if (ready[2].revents)
            take_signals();
        if (ready[1].revents || !keeper.daemon)
            return false;
        if (ready[0].revents)
            return true;
    }
}

static bool await_something(int fd, int64_t deadline_ms)
{
    return await_either(fd, false, deadline_ms);
}

static bool is_wanted(void)
{
    struct pollfd end = {.fd = STDIN_FILENO};

    return poll(&end, 1, 0) == 0;
}

// ---- what it is asked ----

static int spawn_asker(pid_t *pid, int *in, int *out)
{
    char *arguments[] = {keeper.control, NULL};
    int ins[2], outs[2];

    if (pipe2(ins, O_CLOEXEC))
        return -errno;
    if (pipe2(outs, O_CLOEXEC)) {
        close(ins[0]);
        close(ins[1]);
        return -errno;
    }
    const struct spawn_request request = {.program = keeper.control,
                                          .arguments = arguments,
                                          .fds = (int[]){ins[0], outs[1], -1},
                                          .fd_count = 3};
    int err = spawn_program(&request, pid);
    close(ins[0]);
    close(outs[1]);
    *in = ins[1];
    *out = outs[0];
    return err;
}

// What the control program prints when it is given the command. -ETIMEDOUT: it says nothing, or not to its end.
static int ask(const char *command, char *reply, int within_ms)
{
    int64_t deadline = clock_ms() + within_ms;
    SCOPED_FD int in = -1, out = -1;
    size_t used = 0;
    ssize_t n = 1;
    pid_t pid = 0;
    int err = spawn_asker(&pid, &in, &out);

    *reply = '\0';
    if (!err && dprintf(in, "%s\n", command) < 0)
        err = -errno;
    close(scoped_take_fd(&in));
    while (!err && n > 0 && await_something(out, deadline)) {
        n = read(out, reply + used, REPLY_ROOM - 1 - used);
        used += n > 0 ? (size_t)n : 0;
        reply[used] = '\0';
    }
    if (!err && n > 0)
        err = -ETIMEDOUT;
    if (pid > 0)
        kill(pid, SIGKILL); // take_signals() reaps it
    return err;
}

static int look(void)
{
    char list[REPLY_ROOM], status[REPLY_ROOM] = "none", command[64];
    int err = ask("get_server_list", list, keeper.patience_ms);
    pid_t server = err ? 0 : atoi(list);

    snprintf(command, sizeof(command), "get_server_status %d", (int)server);
    if (!err && server > 0)
        err = ask(command, status, keeper.patience_ms);
    if (err)
        return err;
    status[strcspn(status, "\r\n")] = '\0';
    if (server == keeper.server && !strcmp(status, keeper.server_status))
        return 0;
    keeper.server = server;
    snprintf(keeper.server_status, sizeof(keeper.server_status), "%.63s", status);
    say("server %d %s", (int)server, keeper.server_status);
    return 0;
}

// ---- what rgpud wants ----

// The client is killed when the GPU has nothing more to do for it: a client that goes in the middle of a kernel is a fault
// to the others.
static void terminate(int client)
{
    char command[64], reply[REPLY_ROOM];

    if (!keeper.server)
        look();
    snprintf(command, sizeof(command), "terminate_client %d %d", (int)keeper.server, client);
    if (ask(command, reply, TERMINATE_MS))
        say("note client %d is not terminated: %s", client, "the daemon does not answer");
    kill(client, SIGKILL);
}

// Lines that are there; the end is seen by is_wanted().
static void obey(void)
{
    static char line[256];
    static size_t used;
    struct pollfd speaks = {.fd = STDIN_FILENO, .events = POLLIN};
    bool spoken = poll(&speaks, 1, 0) > 0 && speaks.revents & POLLIN;
    ssize_t n = spoken ? read(STDIN_FILENO, line + used, sizeof(line) - 1 - used) : 0;
    char *end;
    int client;

    used += n > 0 ? (size_t)n : 0;
    line[used] = '\0';
    while ((end = strchr(line, '\n'))) {
        if (sscanf(line, "terminate %d", &client) == 1)
            terminate(client);
        used -= (size_t)(end + 1 - line);
        memmove(line, end + 1, used + 1);
    }
}

// ---- from start to end ----

// It listens once it answers.
static int await_ready(void)
{
    int64_t deadline = clock_ms() + keeper.patience_ms;
    char path[4096], reply[REPLY_ROOM];

    snprintf(path, sizeof(path), "%s/pipe/control", keeper.directory);
    while (access(path, F_OK)) {
        await_something(-1, clock_ms() + LOOK_MS);
        if (!keeper.daemon || !is_wanted() || clock_ms() > deadline)
            return -ETIMEDOUT;
    }
    return ask("get_server_list", reply, keeper.patience_ms);
}

static void watch(void)
{
    int err = await_ready();

    if (!err)
        say("ready");
    while (!err && keeper.daemon && is_wanted()) {
        await_either(-1, true, clock_ms() + keeper.check_ms);
        obey();
        if (keeper.daemon && is_wanted())
            err = look();
    }
    if (err && keeper.daemon && is_wanted())
        say("ends the MPS daemon does not answer within mps_patience");
}

static void kill_children(void)
{
    int pid;
    SCOPED_FILE FILE *children = fopen("/proc/thread-self/children", "re");

    while (children && fscanf(children, "%d", &pid) == 1)
        kill(pid, SIGKILL);
}

// Whatever is left: the daemon, its servers, who asks it.
static void end_all(void)
{
    char reply[REPLY_ROOM];
    int status;

    keeper.leaving = !is_wanted();
    if (keeper.daemon && keeper.leaving && !ask("quit -t 1", reply, GOODBYE_MS))
        await_something(-1, clock_ms() + GOODBYE_MS);
    if (keeper.daemon > 0)
        kill(-keeper.daemon, SIGKILL);
    do
        kill_children();
    while (waitpid(-1, &status, 0) > 0 || errno == EINTR);
}

static int keep(void)
{
    char how[128];
    int err = start_daemon();

    if (err) {
        say("ends cannot start %s: %s", keeper.control, strerror(-err));
        return 1;
    }
    say("daemon %d", (int)keeper.daemon);
    watch();
    if (!keeper.daemon) {
        spawn_describe_status(keeper.status, how, sizeof(how));
        say("ends the MPS daemon ended by itself: %s", how);
    }
    end_all();
    return 0;
}

static int watch_children(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    keeper.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return keeper.signals < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
    log_init("rgpu-mps-keeper", LOG_LEVEL_INFO);
    if (program_answer(&about, argc, argv))
        return 0;
    if (argc != 6) {
        fputs(about.usage, stderr);
        return 2;
    }
    keeper.control = argv[1];
    keeper.directory = argv[2];
    keeper.check_ms = atoi(argv[4]);
    keeper.patience_ms = atoi(argv[5]);
    signal(SIGPIPE, SIG_IGN);
    int err = setenv("CUDA_VISIBLE_DEVICES", argv[3], 1) ? -ENOMEM : prepare_folders();
    if (!err && prctl(PR_SET_CHILD_SUBREAPER, 1))
        err = -errno;
    if (!err)
        err = watch_children();
    if (err) {
        say("ends cannot use the MPS daemon's folders: %s", strerror(-err));
        return 1;
    }
    return keep();
}
