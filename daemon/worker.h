// The supervisor's view of one worker process, from its start to its obituary.
#ifndef RGPU_DAEMON_WORKER_H
#define RGPU_DAEMON_WORKER_H

#include "daemon/worker_setup.h"

enum worker_state {
    WORKER_STARTING, // the process runs, its context is being made
    WORKER_WARM,
    WORKER_SERVING,  // a client's socket was handed over
    WORKER_ENDING,   // asked to end, or its control socket is closed
    WORKER_DEAD,     // reaped
};

// What is known of the session that a worker serves.
struct session {
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

struct worker {
    TAILQ_ENTRY(worker) link;
    struct box *box;
    struct device *device; // NULL: the first worker, which shows the devices
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
    struct session session;
    unsigned differs[BOX_DEVICES_MAX]; // rounds in a row in which its account does (comparison.c)
};

const char *worker_state_name(enum worker_state state);

// ---- the process (worker_spawn.c) ----

// What leads from it to us: messages, questions about system calls that are refused, output.
struct worker_ends {
    int control, refusals, output;
};

// Pairs of them, ours non-blocking. -errno.
int worker_ends_make(struct worker_ends *ours, struct worker_ends *theirs)
    __attribute__((warn_unused_result));
void worker_ends_close(const struct worker_ends *ends);
// Starts the process with THEIRS, and with its SETUP in the socket. -errno: there is no process.
int worker_spawn(const struct box *box, const struct worker_part *part, const struct worker_ends *ours,
                 const struct worker_ends *theirs, pid_t *pid) __attribute__((warn_unused_result));

// ---- its life (worker.c) ----

// Starts a worker for DEVICE that reaches no devices but SEES. Failures are counted against the pool. -errno after logging.
int worker_start(struct box *box, struct device *device, device_set sees)
    __attribute__((warn_unused_result));

// Hands a client's socket to a warm worker, and its lease's account (-1: none); the caller closes
// its own copies. On failure the worker
// is being ended and another may be tried.
int worker_grant(struct worker *worker, const struct control_grant *grant, int client_fd,
                 int account_fd)
    __attribute__((warn_unused_result));

// Asks a worker to end, and kills it after the grace time.
void worker_end(struct worker *worker, enum control_end_reason reason, const char *text);

struct worker *worker_find_warm(struct box *box, const struct device *device, device_set sees);

// Kills and forgets whatever is left, at the very end.
void worker_kill_all(struct box *box);

// Reaps every worker that has ended; the handler of SIGCHLD.
void worker_reap_all(struct box *box);

#endif
