// SPDX-License-Identifier: BSD-3-Clause
// The control program of the software MPS, which goes by the interface of NVIDIA's: with -f it is the daemon, which
// starts a server for its clients; without it passes the commands of its standard input to the daemon.
#ifndef SIM_MPS_CONTROL_H
#define SIM_MPS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sim/mps_board.h"

// The server: a process that has the clients' connections. One at a time.
struct mps_server {
    pid_t pid; // 0: there is none
    uid_t user;
    int channel; // for connections of new clients
    int board_fd;
    struct mps_board *board;
};

// Starts one for clients of the user. -errno.
int mps_server_start(struct mps_server *server, uid_t user);
// Hands a connection to it.
int mps_server_give(struct mps_server *server, int connection, pid_t client);
// It has ended: gives back what there is of it.
void mps_server_forget(struct mps_server *server);
// "ACTIVE" or "FAULT".
const char *mps_server_state(const struct mps_server *server);
// Serves clients until the channel ends.
__attribute__((noreturn)) void mps_server_run(const struct mps_server *server);

// Answers a command of an administrator; true: the daemon is to end.
bool mps_command(struct mps_server *server, const char *text, char *reply, size_t room);

#endif
