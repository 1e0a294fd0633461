// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/fdpass.h"
#include "common/base/log.h"
#include "sim/mps/mps_control.h"

// ---- in the daemon ----

static int make_board(struct mps_server *server)
{
    server->board_fd = memfd_create("rgpu-sim-mps", MFD_CLOEXEC);
    if (server->board_fd < 0 || ftruncate(server->board_fd, sizeof(*server->board)))
        return -errno;
    void *memory =
        mmap(NULL, sizeof(*server->board), PROT_READ | PROT_WRITE, MAP_SHARED, server->board_fd, 0);
    if (memory == MAP_FAILED)
        return -errno;
    server->board = memory;
    return 0;
}

void mps_server_forget(struct mps_server *server)
{
    if (server->board)
        munmap(server->board, sizeof(*server->board));
    if (server->board_fd >= 0)
        close(server->board_fd);
    if (server->channel >= 0)
        close(server->channel);
    *server = (struct mps_server){.board_fd = -1, .channel = -1};
}

static int mps_server_spawn(struct mps_server *server)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return -errno;
    server->pid = fork();
    if (server->pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return -errno;
    }
    if (!server->pid) {
        server->channel = ends[1];
        mps_server_run(server);
    }
    close(ends[1]);
    server->channel = ends[0];
    return 0;
}

int mps_server_start(struct mps_server *server, uid_t user)
{
    int err = make_board(server);

    if (!err)
        err = mps_server_spawn(server);
    if (err) {
        mps_server_forget(server);
        return err;
    }
    server->user = user;
    log_info("server started pid=%d user=%u", (int)server->pid, (unsigned)user);
    return 0;
}

int mps_server_give(struct mps_server *server, int connection, pid_t client)
{
    return fdpass_send(server->channel, &client, sizeof(client), &connection, 1);
}

const char *mps_server_state(const struct mps_server *server)
{
    return atomic_load(&server->board->faulted) ? "FAULT" : "ACTIVE";
}

// ---- in the server ----

static struct pollfd places[1 + MPS_CLIENTS_MAX]; // the channel, then the clients' connections

static void mps_server_answer(int connection, uint32_t what, int place, int board)
{
    const struct mps_reply reply = {.answer = what, .place = (uint32_t)place};

    if (fdpass_send(connection, &reply, sizeof(reply), &board, what == MPS_TAKEN))
        log_info("a client does not hear what it asked for");
}

static int free_place(void)
{
    for (int i = 1; i <= MPS_CLIENTS_MAX; i++)
        if (places[i].fd < 0)
            return i;
    return 0;
}

static void take_client(const struct mps_server *server, int connection, pid_t client)
{
    int place = free_place();

    if (atomic_load(&server->board->faulted) || !place) {
        mps_server_answer(connection, place ? MPS_FAULTED : MPS_FULL, 0, -1);
        close(connection);
        return;
    }
    places[place].fd = connection;
    server->board->places[place - 1] = (struct mps_place){.client = (int32_t)client};
    atomic_fetch_add(&server->board->client_count, 1);
    mps_server_answer(connection, MPS_TAKEN, place - 1, server->board_fd);
    log_info("client pid=%d", (int)client);
}

// Removes a client; a client that leaves during a kernel causes a fault. After a fault the server
// accepts new clients only when all old ones have left.
static void drop_client(const struct mps_server *server, int place)
{
    struct mps_place *left = &server->board->places[place - 1];

    if (atomic_load(&left->running) && !atomic_load(&left->terminated))
        atomic_store(&server->board->faulted, 1);
    close(places[place].fd);
    places[place].fd = -1;
    places[place].revents = 0;
    atomic_store(&left->client, 0);
    if (atomic_fetch_sub(&server->board->client_count, 1) == 1)
        atomic_store(&server->board->faulted, 0);
}

static void take_from_daemon(const struct mps_server *server)
{
    size_t count = 1;
    int connection = -1;
    pid_t client = 0;
    ssize_t n = fdpass_receive(server->channel, &client, sizeof(client), &connection, &count);

    if (n == 0 || (n < 0 && n != -EAGAIN))
        _exit(0);
    if (n == sizeof(client) && count == 1)
        take_client(server, connection, client);
}

void mps_server_run(const struct mps_server *server)
{
    prctl(PR_SET_NAME, "mps-server");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 1; i <= MPS_CLIENTS_MAX; i++)
        places[i] = (struct pollfd){.fd = -1, .events = POLLRDHUP};
    places[0] = (struct pollfd){.fd = server->channel, .events = POLLIN};
    for (;;) {
        if (poll(places, 1 + MPS_CLIENTS_MAX, -1) < 0)
            continue;
        for (int i = 1; i <= MPS_CLIENTS_MAX; i++)
            if (places[i].fd >= 0 && places[i].revents)
                drop_client(server, i);
        if (places[0].revents)
            take_from_daemon(server);
    }
}
