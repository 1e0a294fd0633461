// SPDX-License-Identifier: BSD-3-Clause
// Describes one worker process and its states. worker_life.c starts and ends workers;
// worker_messages.c receives their messages.
#ifndef RGPU_DAEMON_WORKER_PROCESS_H
#define RGPU_DAEMON_WORKER_PROCESS_H

#include "common/service/allowance.h"
#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/workers/client_sockets.h"

enum worker_state {
    WORKER_STARTING, // ordered, or creating its context
    WORKER_WARM,
    WORKER_SERVING, // it has a client's socket
    WORKER_ENDING,  // asked to end, or its control socket is closed
    WORKER_DEAD,
};

// The session that a worker serves.
struct session_record {
    uint64_t id; // 0: none yet
    char client[512];
    uint32_t client_pid;
    uint8_t client_boot_id[CONTROL_BOOT_ID_BYTES];
    char peer[128];
    struct session_grant grant;
    enum control_protection protection;
    int64_t since_ms;
    bool waited; // the client had to wait for a worker
    struct control_stats stats;
    uint64_t calls_counted; // calls at the last count of its GPU time
    bool ended;             // the worker has reported the reason
    struct control_ended end;
};

// A connection from another box that a worker expects.
enum { EXPECTED_CALLS_MAX = 64 };
struct expected_call {
    bool open;
    uint32_t number;
    uint8_t token[CONTROL_TOKEN_BYTES];
};

// The worker's part in a pause of its lease (suspension_steps.c).
struct worker_pause {
    uint32_t number;   // the pause in which it rests; 0: none
    int64_t called_ms; // time since when the client waits for a call; 0: it does not
    bool shares;       // GPUs of other boxes access its memory, or its GPU theirs
    bool away;         // its memory is off the GPUs
};

struct worker_process {
    TAILQ_ENTRY(worker_process) link;
    struct box *box;
    struct box_device *device; // NULL: the first worker, which reports the devices
    device_set sees;
    struct mps_part part;
    bool mps; // client of its device's MPS daemon
    enum worker_state state;
    uint64_t number;                        // its number at rgpu-spawner
    pid_t pid;                              // 0: ordered but not started
    uid_t user;                             // 0: the spawner's user
    int control_fd, refusals_fd, output_fd; // -1: owned by another part, or closed
    int proc_fd;                            // its directory in /proc; -1: not known
    char socket[WORKER_SOCKET_NAME_MAX];    // name of the sockets on which it awaits its client
    struct vm_attached *window;             // window of which its session has a part; NULL: none
    struct refusals *refusals;
    struct worker_output *output;
    struct event *readable;
    struct event *deadline; // until it is ready, or until it is killed
    int64_t started_ms;
    struct allowance messages;  // messages that it may send
    struct allowance exporting; // messages about shared memory
    struct expected_call expects[EXPECTED_CALLS_MAX];
    unsigned next_expected;
    struct allowance calling; // calls to other boxes on its behalf
    int64_t active_ms;        // time of the client's last known request
    struct worker_pause pause;
    bool held_back;                            // its lease has used more than its share (shares.c)
    struct box_device *going[BOX_DEVICES_MAX]; // targets of its session's memory during a restore
    bool has_moved;
    bool asked_to_end;
    bool promised;    // to a waiting client (refill.c)
    char reason[512]; // reason that the supervisor ended it, or its own report
    struct session_record session;
    uint64_t driver_bytes[BOX_DEVICES_MAX]; // from the management library; 0: not known (figures.c)
    uint64_t held_bytes[BOX_DEVICES_MAX];   // bytes that its session held at that reading
    struct figure utilization[BOX_DEVICES_MAX]; // percent
    unsigned differs[BOX_DEVICES_MAX]; // consecutive rounds with a difference (comparison.c)
};

const char *worker_state_name(enum worker_state state);
// Returns the worker with this process id, or NULL.
struct worker_process *worker_process_find(const struct box *box, pid_t pid);
// Changes the state of a worker. No other function changes it.
void worker_process_move(struct worker_process *worker, enum worker_state state);
// Adds the worker (1) to the counts of its device's pool, or removes it (-1). Call it around a
// change of a counted value.
void worker_process_count(struct worker_process *worker, int direction);
// Sets the time that the worker has to become ready or to end.
void worker_process_set_timer(struct worker_process *worker, uint64_t microseconds);
void worker_process_late(evutil_socket_t fd, short events, void *argument); // handles the timeout
// Kills the worker. Logs REASON unless it already has a reason.
void worker_process_kill(struct worker_process *worker, const char *reason);
// Asks a worker to end, and kills it after the grace time.
void worker_end(struct worker_process *worker, enum control_end_reason reason, const char *text);

// Returns a warm worker with exactly these devices and limits, or NULL.
struct worker_process *worker_find_warm(struct box *box, const struct box_device *device,
                                        device_set sees, struct mps_part part);

#endif
