// SPDX-License-Identifier: BSD-3-Clause
// A worker process and its state. worker_life.c starts and ends workers; worker_messages.c receives
// their messages.
#ifndef RGPU_DAEMON_WORKER_PROCESS_H
#define RGPU_DAEMON_WORKER_PROCESS_H

#include "common/service/allowance.h"
#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/workers/client_sockets.h"

enum worker_state {
    WORKER_STARTING, // ordered, or creating its context
    WORKER_WARM,
    WORKER_SERVING, // has a client's socket
    WORKER_ENDING,  // was ordered to end, or has closed its control socket
    WORKER_DEAD,
};

// The session of a worker.
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
    uint64_t calls_counted; // stats.calls when its GPU time was last updated
    char *ticket;           // header.payload of its client's ticket; NULL: there was none
    bool ended;             // the worker has reported the reason of the session's end
    struct control_ended end;
};

// A connection from another box that the worker expects (box_calls.h).
enum { EXPECTED_CALLS_MAX = 64 };
struct expected_call {
    bool open;
    uint32_t number;
    uint8_t token[CONTROL_TOKEN_BYTES];
};

enum worker_image { IMAGE_NONE, IMAGE_SAVING, IMAGE_SAVED, IMAGE_RESTORING };

// The worker's part in a suspension of its lease (suspension_steps.c).
struct worker_pause {
    uint32_t number;   // number of the pause that it has confirmed; 0: none
    int64_t called_ms; // time since when the client waits for an answer; 0: no client waits
    bool shares;       // the worker shares memory with GPUs of other boxes
    bool away;         // its memory is in the host
    // memory that the worker moves itself (worker_images.h)
    bool saves; // the worker knows SAVE
    enum worker_image image;
    enum control_save_outcome outcome;
    uint64_t saved; // bytes in the image
    uint64_t rest;  // bytes that it has on its GPU although it is away
    int32_t result; // CUresult of the last restoration
};

struct worker_process {
    TAILQ_ENTRY(worker_process) link;
    struct box *box;
    struct box_device *device; // NULL: first worker, which reports the devices
    device_set sees;
    struct mps_part part;
    bool mps; // the worker is a client of its device's MPS daemon
    enum worker_state state;
    uint64_t number;                        // its number for rgpu-spawner
    pid_t pid;                              // 0: not started yet
    uid_t user;                             // 0: the spawner's user
    int control_fd, refusals_fd, output_fd; // -1: closed, or owned by another part
    int proc_fd;                            // directory /proc/PID; -1: unknown
    char socket[WORKER_SOCKET_NAME_MAX];    // name of its sockets for the client
    // window that contains a part of its session; NULL: none
    struct vm_attached *window;
    struct refusals *refusals;
    struct worker_output *output;
    struct event *readable;
    struct event *deadline; // limit for becoming ready, or for ending
    int64_t started_ms;
    struct allowance messages;  // limits its messages
    struct allowance exporting; // limits its messages about shared memory
    struct expected_call expects[EXPECTED_CALLS_MAX];
    unsigned next_expected;
    struct expected_call resumes; // connections that continue lost ones of its client
    struct allowance calling;     // limits calls to other boxes
    int64_t active_ms;            // time of the client's last request, as far as known
    struct worker_pause pause;
    bool not_suspendable; // the driver has refused to suspend it, and would again
    // its lease has used more than its time share (shares.c)
    bool held_back;
    struct box_device *going[BOX_DEVICES_MAX]; // GPUs on which its memory is being restored
    bool has_moved;
    bool asked_to_end;
    bool promised;    // reserved for a waiting client (refill.c)
    bool taken_over;  // from an earlier rgpud
    bool unkept;      // what the spawner keeps of its session is out of date (kept_session.c)
    char reason[512]; // why the supervisor ended it, or its own report
    struct session_record session;
    // bytes, from the management library; 0: unknown (figures.c)
    uint64_t driver_bytes[BOX_DEVICES_MAX];
    uint64_t held_bytes[BOX_DEVICES_MAX];       // bytes of its session when driver_bytes was read
    struct figure utilization[BOX_DEVICES_MAX]; // percent
    // number of consecutive rounds in which the account differed (comparison.c)
    unsigned differs[BOX_DEVICES_MAX];
};

const char *worker_state_name(enum worker_state state);
// Returns the worker with this process id, or NULL.
struct worker_process *worker_process_find(const struct box *box, pid_t pid);
// Returns the worker with this session (not 0), or NULL.
struct worker_process *worker_process_of_session(const struct box *box, uint64_t session);
// Sets the state of a worker. No other function does.
void worker_process_move(struct worker_process *worker, enum worker_state state);
// Adds (1) or removes (-1) the worker in the counts of its device's pool. Must be called before and
// after a change of a counted value.
void worker_process_count(struct worker_process *worker, int direction);
// Sets the time limit for becoming ready or for ending.
void worker_process_set_timer(struct worker_process *worker, uint64_t microseconds);
// event callback of the time limit
void worker_process_late(evutil_socket_t fd, short events, void *argument);
// Kills the worker and logs REASON, unless it has a reason already.
void worker_process_kill(struct worker_process *worker, const char *reason);
// Orders a worker to end, and kills it after the grace time.
void worker_end(struct worker_process *worker, enum control_end_reason reason, const char *text);

// Returns a warm worker with exactly these devices and limits, or NULL.
struct worker_process *worker_find_warm(struct box *box, const struct box_device *device,
                                        device_set sees, struct mps_part part);

#endif
