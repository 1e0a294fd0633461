// SPDX-License-Identifier: BSD-3-Clause
// The supervisor's record of one worker process, and its states. worker_life.c has it started and ended, worker_messages.c
// receives its messages.
#ifndef RGPU_DAEMON_WORKER_PROCESS_H
#define RGPU_DAEMON_WORKER_PROCESS_H

#include "common/allowance.h"
#include "daemon/box.h"
#include "daemon/client_sockets.h"

enum worker_state {
    WORKER_STARTING, // ordered, or the process runs and its context is being made
    WORKER_WARM,
    WORKER_SERVING, // a client's socket was handed over
    WORKER_ENDING,  // asked to end, or its control socket is closed
    WORKER_DEAD,
};

// What is known of the session that a worker serves.
struct session_record {
    uint64_t id; // 0: none yet
    char client[512];
    uint32_t client_pid;
    uint8_t client_boot_id[CONTROL_BOOT_ID_BYTES];
    char peer[128];
    struct session_grant grant;
    enum control_protection protection;
    int64_t since_ms;
    bool waited; // no worker was ready when its client came
    struct control_stats stats;
    uint64_t calls_counted; // when its GPU time was counted last
    bool ended;             // the worker said why
    struct control_ended end;
};

// A connection of another box that a worker expects.
enum { EXPECTED_CALLS_MAX = 64 };
struct expected_call {
    bool open;
    uint32_t number;
    uint8_t token[CONTROL_TOKEN_BYTES];
};

// What a worker says of the pause of its lease (suspension_steps.c).
struct worker_pause {
    uint32_t number;   // at which it rests; 0: none
    int64_t called_ms; // since when the client waits for something; 0: it does not
    bool shares;       // GPUs of other boxes reach its memory, or its GPU theirs
    bool away;         // its memory is off the GPUs
};

struct worker_process {
    TAILQ_ENTRY(worker_process) link;
    struct box *box;
    struct box_device *device; // NULL: the first worker, which shows the devices
    device_set sees;
    struct mps_part part;
    bool mps; // a client of its device's MPS daemon
    enum worker_state state;
    uint64_t number;                        // by which rgpu-spawner knows it
    pid_t pid;                              // 0: it was ordered and has not started
    uid_t user;                             // 0: the spawner's
    int control_fd, refusals_fd, output_fd; // -1: another part has it, or it is closed
    int proc_fd;                            // its directory in /proc; -1: not known
    char socket[WORKER_SOCKET_NAME_MAX];    // name of those on which it awaits its client
    struct vm_attached *window;             // of which its session has a part; NULL: of none
    struct refusals *refusals;
    struct worker_output *output;
    struct event *readable;
    struct event *deadline; // of the start, or until it is killed
    int64_t started_ms;
    struct allowance messages;  // that it may send
    struct allowance exporting; // of them, about shared memory
    struct expected_call expects[EXPECTED_CALLS_MAX];
    unsigned next_expected;
    struct allowance calling; // of other boxes, on its behalf
    int64_t active_ms;        // when its client last asked for something, as far as we know
    struct worker_pause pause;
    bool held_back;                            // its lease has had more than its share (shares.c)
    struct box_device *going[BOX_DEVICES_MAX]; // where its session's memory is being put back
    bool has_moved;
    bool asked_to_end;
    bool promised;    // to a client that waits (refill.c)
    char reason[512]; // why the supervisor ended it, or what it said itself
    struct session_record session;
    uint64_t
        driver_bytes[BOX_DEVICES_MAX]; // as the management library says; 0: not known (figures.c)
    uint64_t held_bytes[BOX_DEVICES_MAX];       // by its session, when the library said that
    struct figure utilization[BOX_DEVICES_MAX]; // percent
    unsigned differs[BOX_DEVICES_MAX]; // rounds in a row in which its account does (comparison.c)
};

const char *worker_state_name(enum worker_state state);
// NULL: there is no worker of this number.
struct worker_process *worker_process_find(const struct box *box, pid_t pid);
// The one place where a worker changes state.
void worker_process_move(struct worker_process *worker, enum worker_state state);
// Adds it (1) to the counts of its device's workers, or takes it out (-1): around a change of what is counted.
void worker_process_count(struct worker_process *worker, int direction);
// How long it may take from here to become ready, or to end.
void worker_process_set_timer(struct worker_process *worker, uint64_t microseconds);
void worker_process_late(evutil_socket_t fd, short events, void *argument); // it took longer
// Kills it; REASON goes into the log unless there is one already.
void worker_process_kill(struct worker_process *worker, const char *reason);
// Asks a worker to end, and kills it after the grace time.
void worker_end(struct worker_process *worker, enum control_end_reason reason, const char *text);

struct worker_process *worker_find_warm(struct box *box, const struct box_device *device,
                                        device_set sees, struct mps_part part);

#endif
