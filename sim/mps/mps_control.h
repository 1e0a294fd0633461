// SPDX-License-Identifier: BSD-3-Clause
// Control program of the software MPS, with the interface of nvidia-cuda-mps-control. With -f it
// runs as a daemon, which starts a server for clients. Without -f it sends commands from standard
// input to the daemon.
#ifndef SIM_MPS_CONTROL_H
#define SIM_MPS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sim/mps/mps_board.h"

// The server process, which has the clients' connections. At most one runs.
struct mps_server {
    pid_t pid; // 0: not running
    uid_t user;
    int channel; // socket for sending connections of new clients
    int board_fd;
    struct mps_board *board;
};

// Starts a server for clients of the user. Returns 0 or -errno.
int mps_server_start(struct mps_server *server, uid_t user);
// Sends a connection to the server.
int mps_server_give(struct mps_server *server, int connection, pid_t client);
// Frees what belongs to a server that has ended.
void mps_server_forget(struct mps_server *server);
// Returns "ACTIVE" or "FAULT".
const char *mps_server_state(const struct mps_server *server);
// Main loop of the server process; ends when the channel closes.
__attribute__((noreturn)) void mps_server_run(const struct mps_server *server);

// Executes a command and writes the reply, at most ROOM bytes. Returns true if the daemon must end.
bool mps_command(struct mps_server *server, const char *text, char *reply, size_t room);

#endif
