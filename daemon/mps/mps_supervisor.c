// SPDX-License-Identifier: BSD-3-Clause
// rgpu-mps, the MPS supervisor, runs the MPS daemon of one GPU. rgpu-spawner starts one supervisor
// for each such GPU, with the user of the daemon. The supervisor starts the daemon in the
// foreground and checks it at intervals. It is a separate process because rgpud must not wait for
// the daemon and must not run as the daemon's user. If the daemon ends, the supervisor ends too,
// and rgpud starts another one. It also ends when its standard input closes. When it ends, it kills
// the daemon and all processes that the daemon has started. Commands on standard input:
//
//     look                     check the daemon now (as does any other line)
//     terminate PID            end a client and its work on the GPU
//     again                    report the state as at the start: another rgpud has taken over
//
// Lines on standard output:
//
//     daemon PID               the daemon runs in process group PID
//     ready                    clients can connect
//     server PID STATUS        the daemon's server and its status; PID 0: there is none
//     ends REASON              last line, unless rgpud has ordered the end
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

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/service/program.h"
#include "common/base/scope.h"
#include "common/base/spawn.h"

enum {
    REPLY_ROOM = 4096,
    LOOK_MS = 20, // interval of checks while the daemon starts
    TERMINATE_MS = 1000,
    GOODBYE_MS = 2000, // time that the daemon has to quit
};

static struct {
    char *control;
    const char *directory;
    int check_ms, timeout_ms;
    pid_t daemon; // 0: it has ended
    int status;   // exit status
    int signals;
    pid_t server;
    char server_status[64];
    bool leaving; // standard input was closed when the end began
} supervisor;

static const struct program_about about = {
    .name = "rgpu-mps",
    .usage = "usage: rgpu-mps CONTROL DIRECTORY GPU CHECK_MS TIMEOUT_MS\n"
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

// Opens a folder of the daemon and exports its path. rgpu-spawner has made the folders for this
// user. Their parent belongs to another user, so nothing can be written beside them. Links are not
// followed.
static int mps_supervisor_open_folder(int parent, const char *name, const char *variable)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/%s", supervisor.directory, name);
    SCOPED_FD int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (n < 0 || (size_t)n >= sizeof(path))
        return -ENAMETOOLONG;
    return setenv(variable, path, 1) ? -ENOMEM : scoped_take_fd(&fd);
}

// Removes files of an earlier daemon, which would be mistaken for this one's. Removes links, not
// their targets.
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
    SCOPED_FD int own = open(supervisor.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    umask(0007);
    if (own < 0)
        return -errno;
    SCOPED_FD int pipe = mps_supervisor_open_folder(own, "pipe", "CUDA_MPS_PIPE_DIRECTORY");
    if (pipe < 0)
        return pipe;
    clear_folder(pipe);
    SCOPED_FD int log = mps_supervisor_open_folder(own, "log", "CUDA_MPS_LOG_DIRECTORY");
    return log < 0 ? log : 0;
}

// ---- the daemon ----

static int start_daemon(void)
{
    char foreground[] = "-f";
    char *arguments[] = {supervisor.control, foreground, NULL};
    const struct spawn_request request = {.program = supervisor.control,
                                          .arguments = arguments,
                                          .fds = (int[]){-1, STDERR_FILENO, STDERR_FILENO},
                                          .fd_count = 3,
                                          .own_process_group = true};

    return spawn_program(&request, &supervisor.daemon);
}

static void take_signals(void)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    while (read(supervisor.signals, &info, sizeof(info)) > 0)
        ;
    // Processes that the daemon leaves become children of this process.
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == supervisor.daemon) {
            supervisor.daemon = 0;
            supervisor.status = status;
        }
}

// Waits until the descriptor has data (-1: none). Returns false on timeout, after the daemon's end,
// or if input arrives while WANT_INPUT is set. Closing standard input also returns false.
static bool await_either(int fd, bool want_input, int64_t deadline_ms)
{
    struct pollfd ready[] = {{.fd = fd, .events = POLLIN},
                             {.fd = supervisor.leaving ? -1 : STDIN_FILENO,
                              .events = want_input ? POLLIN : 0},
                             {.fd = supervisor.signals, .events = POLLIN}};

    for (;;) {
        int64_t left = deadline_ms - clock_ms();
        if (left <= 0)
            return false;
        if (poll(ready, 3, (int)left) < 0 && errno != EINTR)
            return false;
        if (ready[2].revents)
            take_signals();
        if (ready[1].revents || !supervisor.daemon)
            return false;
        if (ready[0].revents)
            return true;
    }
}

static bool await_something(int fd, int64_t deadline_ms)
{
    return await_either(fd, false, deadline_ms);
}

static bool mps_supervisor_is_wanted(void)
{
    struct pollfd end = {.fd = STDIN_FILENO};

    return poll(&end, 1, 0) == 0;
}

// ---- the control program ----

static int spawn_asker(pid_t *pid, int *in, int *out)
{
    char *arguments[] = {supervisor.control, NULL};
    int ins[2], outs[2];

    if (pipe2(ins, O_CLOEXEC))
        return -errno;
    if (pipe2(outs, O_CLOEXEC)) {
        close(ins[0]);
        close(ins[1]);
        return -errno;
    }
    const struct spawn_request request = {.program = supervisor.control,
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

// Runs a command of the control program and stores its output. Returns -ETIMEDOUT if there is no
// complete output in time.
static int mps_supervisor_ask(const char *command, char *reply, int within_ms)
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

static int mps_supervisor_check(void)
{
    char list[REPLY_ROOM], status[REPLY_ROOM] = "none", command[64];
    int err = mps_supervisor_ask("get_server_list", list, supervisor.timeout_ms);
    pid_t server = err ? 0 : atoi(list);

    snprintf(command, sizeof(command), "get_server_status %d", (int)server);
    if (!err && server > 0)
        err = mps_supervisor_ask(command, status, supervisor.timeout_ms);
    if (err)
        return err;
    status[strcspn(status, "\r\n")] = '\0';
    if (server == supervisor.server && !strcmp(status, supervisor.server_status))
        return 0;
    supervisor.server = server;
    snprintf(supervisor.server_status, sizeof(supervisor.server_status), "%.63s", status);
    say("server %d %s", (int)server, supervisor.server_status);
    return 0;
}

// ---- commands of rgpud ----

// Ends a client after the GPU has finished its work. A client that ends in the middle of a kernel
// causes a fault for the other clients.
static void mps_supervisor_terminate(int client)
{
    char command[64], reply[REPLY_ROOM];

    if (!supervisor.server)
        mps_supervisor_check();
    snprintf(command, sizeof(command), "terminate_client %d %d", (int)supervisor.server, client);
    if (mps_supervisor_ask(command, reply, TERMINATE_MS))
        say("note client %d is not terminated: %s", client, "the daemon does not answer");
    kill(client, SIGKILL);
}

// The next check reports the server.
static void mps_supervisor_report(void)
{
    say("daemon %d", (int)supervisor.daemon);
    say("ready");
    *supervisor.server_status = '\0';
}

// Executes pending commands. is_wanted() detects the end of the input.
static void mps_supervisor_obey(void)
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
            mps_supervisor_terminate(client);
        else if (!strncmp(line, "again\n", 6))
            mps_supervisor_report();
        used -= (size_t)(end + 1 - line);
        memmove(line, end + 1, used + 1);
    }
}

// ---- start and end ----

// Waits until the daemon's socket exists and the daemon answers.
static int await_ready(void)
{
    int64_t deadline = clock_ms() + supervisor.timeout_ms;
    char path[4096], reply[REPLY_ROOM];

    snprintf(path, sizeof(path), "%s/pipe/control", supervisor.directory);
    while (access(path, F_OK)) {
        await_something(-1, clock_ms() + LOOK_MS);
        if (!supervisor.daemon || !mps_supervisor_is_wanted() || clock_ms() > deadline)
            return -ETIMEDOUT;
    }
    return mps_supervisor_ask("get_server_list", reply, supervisor.timeout_ms);
}

static void mps_supervisor_watch(void)
{
    int err = await_ready();

    if (!err)
        say("ready");
    while (!err && supervisor.daemon && mps_supervisor_is_wanted()) {
        await_either(-1, true, clock_ms() + supervisor.check_ms);
        mps_supervisor_obey();
        if (supervisor.daemon && mps_supervisor_is_wanted())
            err = mps_supervisor_check();
    }
    if (err && supervisor.daemon && mps_supervisor_is_wanted())
        say("ends the MPS daemon does not answer within mps_timeout");
}

static void kill_children(void)
{
    int pid;
    SCOPED_FILE FILE *children = fopen("/proc/thread-self/children", "re");

    while (children && fscanf(children, "%d", &pid) == 1)
        kill(pid, SIGKILL);
}

// Ends all remaining processes: the daemon, its servers, and control programs.
static void mps_supervisor_end_all(void)
{
    char reply[REPLY_ROOM];
    int status;

    supervisor.leaving = !mps_supervisor_is_wanted();
    if (supervisor.daemon && supervisor.leaving &&
        !mps_supervisor_ask("quit -t 1", reply, GOODBYE_MS))
        await_something(-1, clock_ms() + GOODBYE_MS);
    if (supervisor.daemon > 0)
        kill(-supervisor.daemon, SIGKILL);
    do
        kill_children();
    while (waitpid(-1, &status, 0) > 0 || errno == EINTR);
}

static int mps_supervisor_keep(void)
{
    char how[128];
    int err = start_daemon();

    if (err) {
        say("ends cannot start %s: %s", supervisor.control, strerror(-err));
        return 1;
    }
    say("daemon %d", (int)supervisor.daemon);
    mps_supervisor_watch();
    take_signals(); // rgpud may have noticed the server's end before
    if (!supervisor.daemon) {
        spawn_describe_status(supervisor.status, how, sizeof(how));
        say("ends the MPS daemon ended by itself: %s", how);
    }
    mps_supervisor_end_all();
    return 0;
}

static int watch_children(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    supervisor.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return supervisor.signals < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
    log_init("rgpu-mps", LOG_LEVEL_INFO);
    if (program_answer(&about, argc, argv))
        return 0;
    if (argc != 6) {
        fputs(about.usage, stderr);
        return 2;
    }
    supervisor.control = argv[1];
    supervisor.directory = argv[2];
    supervisor.check_ms = atoi(argv[4]);
    supervisor.timeout_ms = atoi(argv[5]);
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
    return mps_supervisor_keep();
}
