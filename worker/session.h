// SPDX-License-Identifier: BSD-3-Clause
// The one session of this worker (session.c). Who may write a field is said there; any thread reads it.
#ifndef RGPU_WORKER_SESSION_H
#define RGPU_WORKER_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/control_stream.h"
#include "common/handle_table.h"
#include "transport/link.h"
#include "worker/gpus.h"

struct context_set;
struct ledger;
struct graph_part;

struct client_session {
    uint64_t id;
    int control; // the socket of the supervisor
    struct link *link;
    int window; // memory of the window that the link is a part of; -1: there is none
    struct handle_table *handles;
    struct handle_note *notes; // by handle_index
    int ordinals[GPUS_MAX];    // the session's devices
    unsigned device_count;
    bool budgeted;          // the lease has a share of a device, and not the whole
    struct ledger *account; // of the lease on this box; NULL: no other process counts
    int account_line;
    char transport[16];
    char transport_reason[256];
    const uint8_t *paths; // what the box knows of those of copies: struct wire_paths, and rows
    uint32_t paths_size;
    _Atomic uint32_t
        paths_forced; // PATH_BITs of those that are to be taken where they can be; 0: any
    bool privacy;     // what crosses a network is to be encrypted
    _Atomic uint64_t calls;
    _Atomic uint64_t direct_moves, staged_moves; // copies to and from memory that is reached
    _Atomic int deferred;                        // CUresult of the first async failure not yet told
    _Atomic uint64_t recent_stream;              // the last that a request named
    _Atomic uint32_t context_epoch;              // changes when a context goes away
    _Atomic uint32_t memory_epoch;               // changes when device or mapped memory goes away
    _Atomic bool prints;                         // a loaded image may print
};
extern struct client_session session;

// What we keep about a bound handle, beside the driver's object.
struct handle_note {
    uint64_t parent;          // handle of the context, module or library that it dies with
    uint64_t context;         // handle of the context that it dies with as well; 0: with none
    uint32_t parameter_bytes; // of a function or kernel, plus one; 0: not asked yet
    union {
        uint32_t event_flags;    // of an event, as it was made
        int32_t pool_device;     // of a pool: which device's memory it has
        uint32_t frame_bytes;    // of a function or kernel: local memory of each thread
        struct graph_part *part; // of a graph or a node
        struct context_set
            *needs; // of what was instantiated: the contexts without which it cannot run
    };
};

// Maps the account that all sessions of the lease share, and closes its descriptors; -1: there is none. -errno.
int session_open_account(const struct control_grant *grant, const int account_fds[])
    __attribute__((warn_unused_result));
// Takes the devices and budgets that the supervisor grants. -errno.
int session_take_grant(const struct control_grant *grant) __attribute__((warn_unused_result));
// Keeps a failure (CUresult) that no answer tells of until one does, unless another is kept. Any thread.
void session_keep_failure(int result);
// Ends the process after telling the supervisor; any thread, first one wins.
void session_end(enum control_end_reason reason, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
bool session_report(void); // STATS, when something changed
// What there is to tell of links to other boxes.
void session_set_links(const char *text);
// The same of collectives that the site's NCCL carries out.
void session_set_collectives(const char *text);
int session_device_of(CUdevice handle);
int session_number_of(CUdevice handle); // as the client counts; -1: not one of the session's

#endif
