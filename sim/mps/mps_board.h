// SPDX-License-Identifier: BSD-3-Clause
// Messages between the software MPS and its clients. A client connects to the socket `control` in
// the pipe directory and sends a request. The control program passes the connection to the server,
// which replies with a descriptor of the board, a memory that server and clients share. The
// connection stays open until client or server ends.
#ifndef SIM_MPS_BOARD_H
#define SIM_MPS_BOARD_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#define MPS_DIRECTORY_VARIABLE "CUDA_MPS_PIPE_DIRECTORY"
#define MPS_CLIENTS_MAX 60 // maximum clients of a server, as for NVIDIA's MPS

// State of one server, in shared memory. The server adds and removes clients; a client records its
// faults.
struct mps_board {
    // 1: a client caused a fault; all contexts are lost, and new clients are refused until all
    // have left
    _Atomic uint32_t faulted;
    _Atomic uint32_t client_count;
    struct mps_place {
        _Atomic int32_t client; // process id; 0: the entry is free
        // kernels that are running; a client that dies with running kernels causes a fault
        _Atomic uint32_t running;
        _Atomic uint32_t terminated; // 1: an administrator has terminated the client
    } places[MPS_CLIENTS_MAX];
};

enum mps_request_kind { MPS_REQUEST_CLIENT = 1, MPS_REQUEST_COMMAND };

struct mps_request {
    uint32_t kind;
    char text[252]; // MPS_REQUEST_COMMAND only
};

enum mps_answer { MPS_TAKEN, MPS_FAULTED, MPS_FULL };

struct mps_reply {
    uint32_t answer, place;
};

#define MPS_REPLY_MAX 4096 // maximum bytes of the reply to a command

// Sets ADDRESS to the socket NAME in the pipe directory. Returns -ENOENT if the environment names
// no directory, or -ENAMETOOLONG.
struct sockaddr_un;
int mps_address(const char *name, struct sockaddr_un *address);

#endif
