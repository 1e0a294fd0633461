// SPDX-License-Identifier: BSD-3-Clause
// Messages between rgpud and rgpu-spawner: packets of fixed size with descriptors, over a unix
// socket. Both programs must be of the same release, which the version in each packet ensures.
// rgpud numbers the processes that it orders and never reuses a number.
#ifndef RGPU_DAEMON_SPAWNER_SPAWNER_ORDERS_H
#define RGPU_DAEMON_SPAWNER_SPAWNER_ORDERS_H

#include <stdint.h>

enum {
    SPAWNER_VERSION = 2,
    SPAWNER_ORDERS_FD = 3,        // the socket's number in an rgpu-spawner that rgpud has started
    SPAWNER_PROCESSES_MAX = 4096, // maximum number of processes
    SPAWNER_MEMBERS_MAX = 1024,   // maximum workers that one suspender handles
    SPAWNER_GPUS_MAX = 64,
    SPAWNER_STORE_MAX = 5, // maximum number of descriptors that rgpud keeps under one number
};

// Numbers under which rgpud stores descriptors of its own.
enum {
    SPAWNER_STORE_DRIVER,     // the memory file that processes of software GPUs share
    SPAWNER_STORE_LISTENER,   // the first listening socket; the others follow
    SPAWNER_STORE_EXPORT = 32 // the first memory that a session shares; the others follow
};
// Numbers below are of such stores, the others of processes.
#define SPAWNER_PROCESSES (UINT64_C(1) << 40)

enum spawner_verb {
    SPAWNER_START = 1,
    SPAWNER_END,    // kills process `number`
    SPAWNER_LIST,   // requests a list of all processes, with their descriptors
    SPAWNER_MEMBER, // adds a worker to those that the next suspender handles
    // keeps descriptors of rgpud under `number`, in place of earlier ones, for the next rgpud: of a
    // process, until it ends, or of rgpud itself. Without descriptors: keeps none any more
    SPAWNER_STORE,
};

enum spawner_kind { SPAWNER_WORKER = 1, SPAWNER_MPS, SPAWNER_SUSPENDER };

enum spawner_act { SPAWNER_SUSPEND, SPAWNER_RESUME, SPAWNER_SETTLE };

// Descriptors of a SPAWNER_START, in this order.
enum spawner_worker_fd {
    SPAWNER_CONTROL, // the worker's ends of its sockets and pipe
    SPAWNER_REFUSALS,
    SPAWNER_OUTPUT,
    SPAWNER_KEPT_CONTROL, // rgpud's ends, which the spawner keeps for a restarted rgpud
    SPAWNER_KEPT_REFUSALS,
    SPAWNER_KEPT_OUTPUT,
    SPAWNER_DRIVER,  // memory file that processes of software GPUs share
    SPAWNER_CLIENTS, // the worker's listening socket for containers; may be missing
    SPAWNER_WORKER_FDS,
    SPAWNER_KEPT = SPAWNER_DRIVER - SPAWNER_KEPT_CONTROL, // number of rgpud's ends
};
enum spawner_mps_fd { SPAWNER_MPS_INPUT, SPAWNER_MPS_OUTPUT, SPAWNER_MPS_FDS };
enum spawner_suspender_fd {
    SPAWNER_SUSPENDER_OUTPUT,
    SPAWNER_SUSPENDER_DRIVER,
    SPAWNER_SUSPENDER_FDS
};

struct spawner_pair {
    uint8_t from[16], to[16]; // UUIDs of GPUs
};

struct spawner_order {
    uint32_t version, verb;
    uint64_t number; // number of the process; with SPAWNER_MEMBER, of the worker
    uint32_t kind;
    uint32_t user; // user id of a worker; 0: the spawner's
    // number of the GPU: for a worker that is a client of MPS, and for an MPS supervisor
    uint32_t gpu;
    uint32_t mps;        // 1: the worker is a client of MPS on that GPU
    uint32_t act;        // suspender: enum spawner_act
    uint32_t timeout_ms; // suspender that suspends: limit for the work on the GPU
    uint8_t uuid[16];    // MPS supervisor: UUID of its GPU
    uint32_t pair_count; // SPAWNER_MEMBER: number of GPUs that the worker's memory moves between
    uint32_t reserved;   // must be 0
    struct spawner_pair pairs[SPAWNER_GPUS_MAX];
};

enum spawner_word {
    SPAWNER_HELLO = 1, // first packet: range of users of workers
    // the process runs; with a pidfd, and a directory: /proc/PID of a worker, or that of an MPS
    // supervisor's socket
    SPAWNER_STARTED,
    SPAWNER_FAILED, // the process was not started; `value` is -errno
    SPAWNER_ENDED,  // `value` is the wait status
    // one process, with its pidfd and, of a worker, its directory in /proc and rgpud's ends
    SPAWNER_LISTED,
    SPAWNER_STORED, // what rgpud has stored under `number`
    SPAWNER_LIST_END,
};

struct spawner_reply {
    uint32_t version, word;
    uint64_t number;
    uint32_t kind;
    int32_t pid;
    int32_t value;
    uint32_t user;
    // SPAWNER_HELLO: the range; 0: processes run as the spawner's user
    uint32_t first_user, last_user;
};

#endif
