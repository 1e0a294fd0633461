// SPDX-License-Identifier: BSD-3-Clause
// The supervisor's view of one worker process, from its start to its obituary.
#ifndef RGPU_DAEMON_WORKER_PROCESS_H
#define RGPU_DAEMON_WORKER_PROCESS_H

#include "daemon/box.h"

enum worker_state {
    WORKER_STARTING, // the process runs, its context is being made
    WORKER_WARM,
    WORKER_SERVING,  // a client's socket was handed over
    WORKER_ENDING,   // asked to end, or its control socket is closed
    WORKER_DEAD,     // reaped
};

// What is known of the session that a worker serves.
struct session_record {
    uint64_t id; // 0: none yet
    char client[512];
    char peer[128];
    struct session_grant grant;
    enum control_protection protection;
    int64_t since_ms;
    struct control_stats stats;
    bool ended; // the worker said why
    struct control_ended end;
};

struct worker_process {
    TAILQ_ENTRY(worker_process) link;
    struct box *box;
    struct box_device *device; // NULL: the first worker, which shows the devices
    device_set sees;
    enum worker_state state;
    pid_t pid;
    uid_t user; // 0: ours
    int control_fd;
    struct refusals *refusals;
    struct worker_output *output;
    struct event *readable;
    struct event *deadline; // of the start, or until it is killed
    int64_t started_ms;
    int64_t allowance, allowance_ms; // how many messages it may send now, and when that was counted
    bool asked_to_end;
    char reason[512]; // why the supervisor ended it, or what it said itself
    struct session_record session;
    unsigned differs[BOX_DEVICES_MAX]; // rounds in a row in which its account does (comparison.c)
};

const char *worker_state_name(enum worker_state state);

// Starts a worker for DEVICE that reaches no devices but SEES. Failures are counted against the pool. -errno after logging.
int worker_start(struct box *box, struct box_device *device, device_set sees)
    __attribute__((warn_unused_result));

// Hands a client's socket to a warm worker, and its lease's account (-1: none); the caller closes
// its own copies. On failure the worker
// is being ended and another may be tried.
int worker_grant(struct worker_process *worker, const struct control_grant *grant, int client_fd,
                 int account_fd)
    __attribute__((warn_unused_result));

// Asks a worker to end, and kills it after the grace time.
void worker_end(struct worker_process *worker, enum control_end_reason reason, const char *text);

struct worker_process *worker_find_warm(struct box *box, const struct box_device *device, device_set sees);

// Kills and forgets whatever is left, at the very end.
void worker_kill_all(struct box *box);

// Reaps every worker that has ended; the handler of SIGCHLD.
void worker_reap_all(struct box *box);

#endif
