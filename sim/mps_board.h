// SPDX-License-Identifier: BSD-3-Clause
// What the software MPS and its clients say to each other. A client connects to `control` in the pipe directory and
// sends one packet; the control program hands the connection on to the server, which answers with the board, a piece of
// memory that all of them share. The connection stays: its end is the client's, or the server's.
#ifndef SIM_MPS_BOARD_H
#define SIM_MPS_BOARD_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#define MPS_DIRECTORY_VARIABLE "CUDA_MPS_PIPE_DIRECTORY"
#define MPS_CLIENTS_MAX 60 // as many as a GPU has

// One server's. Its clients are listed by the server alone; a fault is noted by the client that makes it.
struct mps_board {
    _Atomic uint32_t
        faulted; // 1: the contexts of all clients are lost, and no new ones are taken until they have gone
    _Atomic uint32_t client_count;
    struct mps_place {
        _Atomic int32_t client;      // a process; 0: a free place
        _Atomic uint32_t running;    // kernels of its; who goes with some makes a fault
        _Atomic uint32_t terminated; // 1: an administrator has ended what it has the GPU do
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

#define MPS_REPLY_MAX 4096 // of text, for a command

// Finds the address of a file in the pipe directory: -ENOENT without one, -ENAMETOOLONG.
struct sockaddr_un;
int mps_address(const char *name, struct sockaddr_un *address);

#endif
