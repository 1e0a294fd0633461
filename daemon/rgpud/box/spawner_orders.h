// SPDX-License-Identifier: BSD-3-Clause
// The messages between rgpud and rgpu-spawner: packets of fixed size over one unix socket, with
// descriptors beside them. Both programs are of one release; the version in each packet refuses
// another one.
//
// rgpud numbers the processes that it orders, with numbers that it never uses twice.
#ifndef RGPU_DAEMON_SPAWNER_SPAWNER_ORDERS_H
#define RGPU_DAEMON_SPAWNER_SPAWNER_ORDERS_H

#include <stdint.h>

enum {
    SPAWNER_VERSION = 1,
    SPAWNER_ORDERS_FD = 3, // of an rgpu-spawner that rgpud has started: its end of the socket
    SPAWNER_PROCESSES_MAX = 4096, // that it keeps at once
    SPAWNER_MEMBERS_MAX = 1024,   // workers that one suspender acts on
    SPAWNER_GPUS_MAX = 64,
};

enum spawner_verb {
    SPAWNER_START = 1,
    SPAWNER_END,    // kills process NUMBER
    SPAWNER_LIST,   // asks for every process, each with its descriptors
    SPAWNER_MEMBER, // one of the workers that the next suspender acts on
};

enum spawner_kind { SPAWNER_WORKER = 1, SPAWNER_MPS, SPAWNER_SUSPENDER };

enum spawner_act { SPAWNER_SUSPEND, SPAWNER_RESUME, SPAWNER_SETTLE };

// The descriptors of a START, in this order.
enum spawner_worker_fd {
    SPAWNER_CONTROL, // the worker's ends
    SPAWNER_REFUSALS,
    SPAWNER_OUTPUT,
    SPAWNER_KEPT_CONTROL, // rgpud's ends, which the spawner keeps and hands out again
    SPAWNER_KEPT_REFUSALS,
    SPAWNER_KEPT_OUTPUT,
    SPAWNER_DRIVER,  // what the processes of software GPUs share
    SPAWNER_CLIENTS, // the worker's socket for containers; may be missing
    SPAWNER_WORKER_FDS,
    SPAWNER_KEPT = SPAWNER_DRIVER - SPAWNER_KEPT_CONTROL, // number of those that are kept
};
enum spawner_mps_fd { SPAWNER_MPS_INPUT, SPAWNER_MPS_OUTPUT, SPAWNER_MPS_FDS };
enum spawner_suspender_fd {
    SPAWNER_SUSPENDER_OUTPUT,
    SPAWNER_SUSPENDER_DRIVER,
    SPAWNER_SUSPENDER_FDS
};

struct spawner_pair {
    uint8_t from[16], to[16]; // identities of GPUs
};

struct spawner_order {
    uint32_t version, verb;
    uint64_t number; // of the process; of a MEMBER: of the worker
    uint32_t kind;
    uint32_t user;       // of a worker: 0 is the spawner's own
    uint32_t gpu;        // of a worker that is a client of MPS, and of an MPS supervisor
    uint32_t mps;        // 1: the worker is a client of that GPU's MPS daemon
    uint32_t act;        // of a suspender
    uint32_t timeout_ms; // of a suspender that suspends
    uint8_t uuid[16];    // of an MPS supervisor's GPU
    uint32_t pair_count; // of a MEMBER: GPUs that its memory leaves
    uint32_t reserved;   // 0
    struct spawner_pair pairs[SPAWNER_GPUS_MAX];
};

enum spawner_word {
    SPAWNER_HELLO = 1, // the first packet: users of workers
    // with a pidfd, and a directory: /proc/PID of a worker, that of the socket of an MPS supervisor
    SPAWNER_STARTED,
    SPAWNER_FAILED, // nothing was started; VALUE is -errno
    SPAWNER_ENDED,  // VALUE is the wait status
    SPAWNER_LISTED, // one process, with its pidfd and the descriptors that were kept
    SPAWNER_LIST_END,
};

struct spawner_reply {
    uint32_t version, word;
    uint64_t number;
    uint32_t kind;
    int32_t pid;
    int32_t value;
    uint32_t user;
    uint32_t first_user, last_user; // of HELLO: the range, 0 if processes keep the spawner's user
};

#endif
