// SPDX-License-Identifier: BSD-3-Clause
// A box: the real agent (daemon/rgpud/broker) over a model of the rest of rgpud, which admits
// sessions by their tickets and ends them.
#ifndef RGPU_TEST_SIMULATED_BOX_H
#define RGPU_TEST_SIMULATED_BOX_H

#include "daemon/rgpud/workers/worker_process.h"
#include "tests/simulation/network.h"
#include "tests/simulation/world.h"

enum { BOX_GPUS_MAX = 8, BOXES_MAX = 50 };

struct simulated_gpu {
    char uuid[48];
    uint64_t memory;
    const char *mode;
    const char *fault; // for a report, or NULL
    bool fault_reported, fault_ends_leases;
};

struct simulated_box {
    struct host host;
    unsigned number;
    char addresses[32];
    struct link link; // to the broker
    struct caller caller;
    struct simulated_gpu gpus[BOX_GPUS_MAX];
    unsigned gpu_count;
    struct dice dice;
    struct box *box; // of the present process
    struct planned *review;
    const struct history *history; // of its agent, for the oracle
    const struct revocations *revocations;
    char *saved_revoked, *saved_history; // its disk
    int64_t disk_free_at;
    bool stuck;  // sessions do not end for a while
    bool forged; // another host answers in the broker's place
};

extern struct simulated_box boxes[BOXES_MAX];
extern unsigned box_count;

void boxes_set_up(uint64_t seed, unsigned count);
struct simulated_box *box_with_name(const char *name);
// Returns the box of the host, or NULL.
struct simulated_box *box_with_host(const struct host *host);
// Runs code of the box's process, which may end by itself there (box_process_die). Returns false if
// it did; it starts again after a while.
bool box_process_call(struct simulated_box *box, world_event *function, void *argument);
_Noreturn void box_process_die(void);
void box_start(void *box);
// The process is killed, or the machine is. Sessions end with it.
void box_crash(struct simulated_box *box, bool power);
// The process stops in order. Sessions end with it, too.
void box_stop(struct simulated_box *box);

// One session of a lease.
struct session_end {
    uint64_t number; // 0: refused
    const char *why;
    bool again; // the box does not know yet if the lease lives
};
// Opens a session with the token of a ticket's line.
struct session_end box_open_session(struct simulated_box *box, const char *token, size_t size);
void box_close_session(struct simulated_box *box, uint64_t number);
bool box_runs_session(const struct simulated_box *box, uint64_t number);
// Returns true if the box would accept the ticket now.
bool box_would_accept(struct simulated_box *box, const struct ticket *ticket);

struct ticket_keyring box_keys(const struct simulated_box *box);

#endif
