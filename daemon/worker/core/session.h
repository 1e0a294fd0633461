// SPDX-License-Identifier: BSD-3-Clause
// The one session of this worker. Any thread may read the members.
#ifndef RGPU_WORKER_SESSION_H
#define RGPU_WORKER_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/net/control_stream.h"
#include "common/base/handle_table.h"
#include "transport/link/link.h"
#include "daemon/worker/core/gpus.h"

struct context_set;
struct ledger;
struct graph_part;

struct client_session {
    uint64_t id;
    int control; // socket to the supervisor
    struct link *link;
    int window; // memory of the window that contains the link; -1: none
    struct handle_table *handles;
    struct handle_note *notes; // data of each handle, by handle_index()
    int ordinals[GPUS_MAX];    // numbers of the session's devices
    unsigned device_count;
    bool budgeted; // the lease has a part of a device's memory
    // account of the lease on this box; NULL: no other process shares the budget
    struct ledger *account;
    int account_line;
    struct throttle throttle; // of the account
    char transport[16];
    char transport_reason[256];
    _Atomic uint32_t paths_forced; // PATH_BITs of paths to use if possible; 0: none is forced
    bool privacy;                  // data on a network must be encrypted
    _Atomic uint64_t calls;
    // copies by RDMA: with direct access to GPU memory, and through staging blocks
    _Atomic uint64_t direct_moves, staged_moves;
    // CUresult of the first asynchronous failure that is not reported yet
    _Atomic int deferred;
    _Atomic uint64_t recent_stream; // last stream in a request
    _Atomic uint32_t context_epoch; // increases when a context ends
    _Atomic uint32_t memory_epoch;  // increases when device or mapped memory is freed
    _Atomic bool prints;            // a loaded image may print
};
extern struct client_session session;

// Data of a bound handle, besides the driver's object.
struct handle_note {
    uint64_t parent;          // handle of the context, module or library with which it ends
    uint64_t context;         // handle of another context with which it ends; 0: none
    CUcontext loaded_into;    // kernel: a context in which it is counted, as long as
    uint32_t loaded_epoch;    // this is session.context_epoch
    uint32_t parameter_bytes; // function or kernel: bytes + 1; 0: not queried yet
    union {
        uint32_t event_flags;      // event: flags of its creation
        int32_t pool_device;       // pool: device of its memory
        uint32_t frame_bytes;      // function or kernel: local memory of a thread
        struct graph_part *part;   // graph or node
        struct context_set *needs; // executable graph: contexts that it needs
    };
};

// Maps the account of the lease and closes its descriptors (-1: there is none). Returns 0 or
// -errno.
int session_open_account(const struct control_grant *grant, const int account_fds[])
    __attribute__((warn_unused_result));
// Sets devices and budgets from the supervisor's grant. Returns 0 or -errno.
int session_take_grant(const struct control_grant *grant) __attribute__((warn_unused_result));
// Stores the CUresult of a request without reply for the next reply, unless one is stored.
// Thread-safe.
void session_keep_failure(int result);
// Reports to the supervisor and exits the process. Thread-safe; the first call decides.
void session_end(enum control_end_reason reason, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
bool session_report(void);      // sends STATS to the supervisor if they have changed
void session_report_anew(void); // sends STATS to a supervisor that has none yet
// Sets the description of links to other boxes in STATS.
void session_set_links(const char *text);
// Sets the description of collectives with the site's NCCL in STATS.
void session_set_collectives(const char *text);
int session_device_of(CUdevice handle);
// index of the device for the client; -1: not in the session
int session_number_of(CUdevice handle);

#endif
