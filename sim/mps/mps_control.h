// SPDX-License-Identifier: BSD-3-Clause
// Declares the control program of the software MPS, which has the interface of NVIDIA's. With -f it
// runs as the daemon and starts a server for its clients. Without it, it sends commands from
// standard input to the daemon.
#ifndef SIM_MPS_CONTROL_H
#define SIM_MPS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sim/mps/mps_board.h"

// The server: a process that holds the clients' connections. At most one runs.
struct mps_server {
    pid_t pid; // 0: no server runs
    uid_t user;
    int channel; // sends connections of new clients
    int board_fd;
    struct mps_board *board;
};

// Starts a server for clients of the user. Returns 0 or -errno.
int mps_server_start(struct mps_server *server, uid_t user);
// Sends a connection to the server.
int mps_server_give(struct mps_server *server, int connection, pid_t client);
// Releases the resources of a server that has ended.
void mps_server_forget(struct mps_server *server);
// Returns "ACTIVE" or "FAULT".
const char *mps_server_state(const struct mps_server *server);
// Serves clients until the channel closes.
__attribute__((noreturn)) void mps_server_run(const struct mps_server *server);

// Answers a command of an administrator. Returns true if the daemon must end.
bool mps_command(struct mps_server *server, const char *text, char *reply, size_t room);

#endif
