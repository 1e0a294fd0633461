// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/net/fdpass.h"
#include "common/base/log.h"
#include "common/service/program.h"
#include "common/base/scope.h"
#include "sim/mps/mps_control.h"

static const struct program_about about = {
    .name = "rgpu-sim-mps-control",
    .usage =
        "usage: rgpu-sim-mps-control [-f]\n"
        "The MPS of software GPUs: -f runs its daemon, which listens in the directory that\n"
        "CUDA_MPS_PIPE_DIRECTORY names; without it commands are read from standard input and passed\n"
        "to that daemon: get_server_list, get_server_status PID, get_client_list PID, ps,\n"
        "terminate_client SERVER PID, shutdown_server PID, quit.\n",
};

// ---- requests ----

static int connect_to_daemon(void)
{
    struct sockaddr_un address;
    int err = mps_address("control", &address);
    SCOPED_FD int fd = err ? -1 : socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (err)
        return err;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
        return -errno;
    return scoped_take_fd(&fd);
}

static int pass_command(const char *line)
{
    struct mps_request request = {.kind = MPS_REQUEST_COMMAND};
    char reply[MPS_REPLY_MAX];
    int unused[1];
    size_t none = 0;
    SCOPED_FD int fd = connect_to_daemon();

    if (fd < 0)
        return fd;
    snprintf(request.text, sizeof(request.text), "%s", line);
    int err = fdpass_send(fd, &request, sizeof(request), NULL, 0);
    if (err)
        return err;
    ssize_t n = fdpass_receive(fd, reply, sizeof(reply), unused, &none);
    if (n > 0)
        fwrite(reply, 1, (size_t)n, stdout);
    return n < 0 ? (int)n : 0;
}

static int pass_commands(void)
{
    char line[252];

    while (fgets(line, sizeof(line), stdin)) {
        int err = pass_command(line);
        if (err) {
            fprintf(stderr, "Cannot find MPS control daemon process: %s\n", strerror(-err));
            return 1;
        }
    }
    return 0;
}

// ---- the daemon ----

enum { WAITING_MAX = 64, SPEAKS_WITHIN_MS = 1000, LOOK_MS = 50 };

// The daemon's state. Clients of another user wait until the server's last client has left.
static struct {
    struct mps_server server;
    int listener, signals;
    struct waiting {
        int connection; // -1: unused
        struct ucred who;
    } waiting[WAITING_MAX];
} control = {.server = {.board_fd = -1, .channel = -1}};

// Locks the directory, so that a second daemon fails to start.
static int lock_directory(void)
{
    struct sockaddr_un address;
    int err = mps_address("control_lock", &address);
    int fd = err ? -1 : open(address.sun_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (err)
        return err;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB))
        return -errno;
    return 0;
}

static int listen_for_clients(void)
{
    struct sockaddr_un address;
    int err = mps_address("control", &address);

    if (err)
        return err;
    unlink(address.sun_path);
    control.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (control.listener < 0 ||
        bind(control.listener, (struct sockaddr *)&address, sizeof(address)) ||
        chmod(address.sun_path, 0666) || listen(control.listener, 128))
        return -errno;
    return 0;
}

static void serve_waiting(struct waiting *waiting)
{
    struct mps_server *server = &control.server;

    if (server->pid && server->user != waiting->who.uid) {
        if (!atomic_load(&server->board->client_count))
            kill(server->pid, SIGKILL);
        return;
    }
    if (!server->pid && mps_server_start(server, waiting->who.uid))
        return;
    if (mps_server_give(server, waiting->connection, waiting->who.pid))
        return;
    close(waiting->connection);
    waiting->connection = -1;
}

static bool serve_all(void)
{
    bool waits = false;

    for (int i = 0; i < WAITING_MAX; i++)
        if (control.waiting[i].connection >= 0) {
            serve_waiting(&control.waiting[i]);
            waits |= control.waiting[i].connection >= 0;
        }
    return waits;
}

static bool add_waiting(int connection, const struct ucred *who)
{
    for (int i = 0; i < WAITING_MAX; i++) {
        struct waiting *place = &control.waiting[i];
        if (place->connection >= 0)
            continue;
        place->who = *who;
        place->connection = connection;
        return true;
    }
    return false;
}

static bool answer_command(int connection, const char *text)
{
    static char reply[MPS_REPLY_MAX];
    bool end = mps_command(&control.server, text, reply, sizeof(reply));

    if (fdpass_send(connection, reply, strlen(reply), NULL, 0))
        log_info("nobody hears the answer");
    return end;
}

// Receives a request and the sender's credentials, since another process may have made the
// connection.
static bool mps_receive(int connection, struct mps_request *request, struct ucred *who)
{
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } room = {{0}};
    struct iovec part = {.iov_base = request, .iov_len = sizeof(*request)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = room.bytes,
                             .msg_controllen = sizeof(room.bytes)};
    const int on = 1;

    if (setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
        recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != sizeof(*request))
        return false;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS)
        return false;
    memcpy(who, CMSG_DATA(header), sizeof(*who));
    return true;
}

// Accepts a connection and its request. Returns true if the daemon must end.
static bool mps_take_connection(void)
{
    SCOPED_FD int connection = accept4(control.listener, NULL, NULL, SOCK_CLOEXEC);
    struct pollfd speaks = {.fd = connection, .events = POLLIN};
    struct mps_request request = {0};
    struct ucred who;

    // A client must send its request promptly, so that it does not delay others.
    if (connection < 0 || poll(&speaks, 1, SPEAKS_WITHIN_MS) <= 0 ||
        !mps_receive(connection, &request, &who))
        return false;
    request.text[sizeof(request.text) - 1] = '\0';
    if (request.kind == MPS_REQUEST_COMMAND)
        return answer_command(connection, request.text);
    if (request.kind == MPS_REQUEST_CLIENT && add_waiting(connection, &who))
        scoped_take_fd(&connection);
    return false;
}

static bool take_signal(void)
{
    struct signalfd_siginfo info;
    int status;

    if (read(control.signals, &info, sizeof(info)) != sizeof(info))
        return false;
    if (info.ssi_signo != SIGCHLD)
        return true;
    if (control.server.pid && waitpid(control.server.pid, &status, WNOHANG) == control.server.pid) {
        log_info("server ended pid=%d", (int)control.server.pid);
        mps_server_forget(&control.server);
    }
    return false;
}

static int open_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    control.signals = signalfd(-1, &set, SFD_CLOEXEC);
    return control.signals < 0 ? -errno : 0;
}

static void mps_run(void)
{
    struct pollfd ready[] = {{.fd = control.listener, .events = POLLIN},
                             {.fd = control.signals, .events = POLLIN}};
    bool end = false, waits = false;

    while (!end) {
        // Polls while clients wait, because the server does not report that its last client has
        // left.
        poll(ready, 2, waits ? LOOK_MS : -1);
        if (ready[1].revents)
            end = take_signal();
        if (ready[0].revents && !end)
            end = mps_take_connection();
        waits = serve_all();
    }
}

static int be_daemon(void)
{
    struct sockaddr_un address;

    for (int i = 0; i < WAITING_MAX; i++)
        control.waiting[i].connection = -1;
    int err = lock_directory();
    if (!err)
        err = listen_for_clients();
    if (!err)
        err = open_signals();
    if (err) {
        log_error("cannot start error=\"%s\"", strerror(-err));
        return 1;
    }
    mps_run();
    if (control.server.pid)
        kill(control.server.pid, SIGKILL);
    if (!mps_address("control", &address))
        unlink(address.sun_path);
    return 0;
}

int main(int argc, char **argv)
{
    log_init("rgpu-sim-mps-control", LOG_LEVEL_INFO);
    log_level_from_environment();
    if (program_answer(&about, argc, argv))
        return 0;
    signal(SIGPIPE, SIG_IGN);
    if (argc == 2 && !strcmp(argv[1], "-f"))
        return be_daemon();
    if (argc == 1)
        return pass_commands();
    fputs(about.usage, stderr);
    return 2;
}
