// SPDX-License-Identifier: BSD-3-Clause
// Holds the one session of this worker (session.c). Each field says who may write it; any thread
// may read it.
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
    int control; // socket of the supervisor
    struct link *link;
    int window; // memory of the window that the link is a part of; -1: no window
    struct handle_table *handles;
    struct handle_note *notes; // by handle_index
    int ordinals[GPUS_MAX];    // the session's devices
    unsigned device_count;
    bool budgeted;          // the lease has a share of a device, not the whole
    struct ledger *account; // of the lease on this box; NULL: no other process counts
    int account_line;
    char transport[16];
    char transport_reason[256];
    _Atomic uint32_t paths_forced; // PATH_BITs of paths to use wherever possible; 0: any
    bool privacy;                  // traffic over a network has to be encrypted
    _Atomic uint64_t calls;
    _Atomic uint64_t direct_moves, staged_moves; // copies to and from memory that is reached
    _Atomic int deferred;           // CUresult of the first asynchronous failure not yet reported
    _Atomic uint64_t recent_stream; // the last stream that a request named
    _Atomic uint32_t context_epoch; // changes when a context ends
    _Atomic uint32_t memory_epoch;  // changes when device or mapped memory is freed
    _Atomic bool prints;            // a loaded image may print
};
extern struct client_session session;

// The worker's data of a bound handle, beside the driver's object.
struct handle_note {
    uint64_t parent;          // handle of the context, module or library that it dies with
    uint64_t context;         // handle of a second context with which it dies; 0: none
    CUcontext loaded_into;    // of a kernel: a context in which it is counted, while
    uint32_t loaded_epoch;    // no context has ended since
    uint32_t parameter_bytes; // of a function or kernel, plus one; 0: not queried yet
    union {
        uint32_t event_flags;    // of an event, as it was made
        int32_t pool_device;     // of a pool: the device of its memory
        uint32_t frame_bytes;    // of a function or kernel: local memory of each thread
        struct graph_part *part; // of a graph or a node
        struct context_set
            *needs; // of an instantiated graph: the contexts without which it cannot run
    };
};

// Maps the account that all sessions of the lease share, and closes its descriptors; -1: there is
// none. Returns 0 or -errno.
int session_open_account(const struct control_grant *grant, const int account_fds[])
    __attribute__((warn_unused_result));
// Takes the devices and budgets that the supervisor grants. Returns 0 or -errno.
int session_take_grant(const struct control_grant *grant) __attribute__((warn_unused_result));
// Keeps a failure (CUresult) of a request without an answer for the next answer, unless another
// failure is kept. Thread-safe.
void session_keep_failure(int result);
// Reports to the supervisor and ends the process. Thread-safe; the first caller wins.
void session_end(enum control_end_reason reason, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
bool session_report(void); // sends STATS, if something changed
// Sets the text about links to other boxes in the statistics.
void session_set_links(const char *text);
// Sets the text about collectives of the site's NCCL.
void session_set_collectives(const char *text);
int session_device_of(CUdevice handle);
int session_number_of(CUdevice handle); // index for the client; -1: not one of the session's

#endif
