// SPDX-License-Identifier: BSD-3-Clause
// Defines the messages between the software MPS and its clients. A client connects to `control` in
// the pipe directory and sends one packet. The control program hands the connection to the server,
// which answers with the board: memory that all of them share. The connection stays open; its end
// means that the client or the server has ended.
#ifndef SIM_MPS_BOARD_H
#define SIM_MPS_BOARD_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#define MPS_DIRECTORY_VARIABLE "CUDA_MPS_PIPE_DIRECTORY"
#define MPS_CLIENTS_MAX 60 // the limit of a GPU

// The board of one server. Only the server lists clients; a client that causes a fault records it.
struct mps_board {
    _Atomic uint32_t
        // 1: the contexts of all clients are lost; no new clients are accepted until they have left
        faulted;
    _Atomic uint32_t client_count;
    struct mps_place {
        _Atomic int32_t client;      // process id; 0: a free entry
        _Atomic uint32_t running;    // running kernels; a client that dies with some causes a fault
        _Atomic uint32_t terminated; // 1: an administrator has ended its work on the GPU
    } places[MPS_CLIENTS_MAX];
};

enum mps_request_kind { MPS_REQUEST_CLIENT = 1, MPS_REQUEST_COMMAND };

struct mps_request {
    uint32_t kind;
    char text[252]; // of a command
};

enum mps_answer { MPS_TAKEN, MPS_FAULTED, MPS_FULL };

struct mps_reply {
    uint32_t answer, place;
};

#define MPS_REPLY_MAX 4096 // bytes of a command's reply

// Builds the address of a file in the pipe directory. Returns -ENOENT if no directory is set, or
// -ENAMETOOLONG.
struct sockaddr_un;
int mps_address(const char *name, struct sockaddr_un *address);

#endif
