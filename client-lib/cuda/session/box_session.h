// SPDX-License-Identifier: BSD-3-Clause
// Defines a session with a box: this process's connection to it, the box's devices, and the threads
// that wait for the worker's events.
#ifndef RGPU_CLIENT_BOX_SESSION_H
#define RGPU_CLIENT_BOX_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/memory_model.h"
#include "common/net/session_client.h"
#include "common/base/wait.h"
#include "proto/cuda_abi.h"
#include "proto/wire.h"
#include "transport/link/link.h"

struct staging;

enum {
    SESSIONS_MAX = 64,
    DEVICES_MAX = SESSIONS_MAX * WIRE_DEVICE_MAX,
    SESSION_OPS = 2048,   // limit of request numbers
    SESSION_CALLS = 1024, // limit of requests of one session that wait for replies at a time
};

// A thread that waits for an event. Lies on that thread's stack.
struct waiter {
    bool done;
    CUresult result;
    CUresult deferred;
    void *reply; // outputs, exactly reply_size bytes
    size_t reply_size;
    void *bytes; // outputs that follow the reply
    size_t bytes_room;
    size_t bytes_used;
    pthread_cond_t changed;
    struct waiter *next; // in session->waiting
};

// A copy from the GPU whose data arrives as events.
struct pending_pull {
    uint32_t job;
    uint8_t *destination;
    uint64_t size;
    struct waiter *waiter; // NULL: no thread waits for its end
    bool later; // no thread waits, and the program's next call will probably read the event
    struct pending_pull *next;
};

struct box_session {
    char box[160];                   // name and address, for messages
    char address[ENDPOINT_TEXT_MAX]; // the address that answered
    char release[64];                // rgpu release of the box
    uint64_t id;
    enum control_protection protection;
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES]; // of the box's kernel; zeros: unknown
    struct control_stream stream; // the connection; the link's own where the transport is tcp
    struct link *link;
    char transport_reason[256];         // why this transport was chosen
    const struct link_staging *staging; // NULL if the link can neither share nor reach memory
    const struct memory_model *memory;  // abilities of the link with memory
    bool mirrors_host;                  // the box mirrors page-locked memory from the beginning
    bool mirrors_on_demand;             // the box mirrors host memory that kernels use
    const char *transport;              // its name
    struct staging *blocks;             // this side's account of the staging blocks
    uint32_t spin_us;
    uint64_t knows[SESSION_OPS / 64]; // a bit for each request that the box supports
    CUdevice first_device;            // the program's first device on this box
    uint32_t device_count;            // devices of the box, including those hidden from the program
    int driver_version;
    bool budgeted; // the lease has a memory share instead of whole GPUs
    struct wire_device *devices;
    struct wire_peer *peers; // device_count * device_count entries

    _Atomic unsigned int captures; // running captures of this session's streams
    // If any stream was created, and if any was that the default stream waits for.
    _Atomic bool streams, blocking_streams;
    struct wait_estimate sync_waits; // timeout estimate of waits for streams and contexts
    // number of waits that still query the box before a flag is tried again
    _Atomic uint32_t syncs_to_ask;
    _Atomic bool takes_graph_blocks; // already reported to the box
    _Atomic bool graphs_allocate;    // a graph there allocates memory
    // Amount of work sent so far, and known to be done. The run is the latest work of one thread in
    // one stream (client-lib/cuda/objects/known_idle.h); run_begins is its first work.
    struct work_count {
        _Atomic uint64_t sent, done, run, run_begins;
        _Atomic uint64_t context; // handle of the context that sent all work so far; 0: none yet
        _Atomic bool several;     // more than one context has sent work
    } work;
    _Atomic uint64_t requests; // requests sent in total; written by the holder of the sending side
    unsigned forced_paths; // PATH_BITs of the copy paths that the user or the box forces; 0: none
    // time that senders have waited for space; written by the holder of the sending side
    uint64_t room_waited;
    _Atomic int lost; // result of every call after the session is lost; 0 while it lives

    // Reading the link, and waiting for its events. `lock` protects all members below.
    pthread_mutex_t lock;
    bool receiving;         // a thread reads the link
    bool service_receiving; // that thread is the service thread
    struct waiter *waiting; // all waiters
    struct waiter *calls[SESSION_CALLS];
    uint32_t next_call;
    uint32_t credits; // number of blocks that may be pushed
    // Held from a push's first block to its last: a push that overtook another one that it waits
    // for on the GPU could use up all credits. Not protected by `lock`.
    pthread_mutex_t pushing;
    uint32_t next_job;
    struct pending_pull *pulls;
    // events that may arrive while no thread waits; read without lock
    _Atomic unsigned int expecting;
    unsigned int later; // of these, events that can be left to the program's next call for a moment
    unsigned int receipts; // number of reads of the link
    bool service_started;
    bool service_sleeps; // sleeps until signalled
    pthread_cond_t service_needed;
    // data of pulls that is being received; owned by the receiving thread, not by `lock`
    struct link_ahead data_ahead;
    _Alignas(16) uint8_t record[WIRE_RECORD_MAX]; // owned by the receiving thread too
};

// The sessions of this process, in the order of their devices. Each exists from cuInit, or from
// when it was opened later (opening.h), until the process ends.
extern struct box_session *sessions[];
extern _Atomic unsigned int session_count;
// Number of devices that the program sees. Higher numbers are devices that sessions_reach added.
extern int session_device_count;
// Gives device NUMBER of the box the next number in this process.
CUdevice session_number(struct box_session *session, uint32_t number);
void session_forget_devices(void); // removes all numbers
// Convert between the program's device numbers and the box's. session_shown returns
// CU_DEVICE_INVALID if the program has no number for the device.
int box_device_number(CUdevice device);
CUdevice session_shown(const struct box_session *session, uint32_t number);
// Returns the session that owns the program's device, or NULL for a wrong number.
struct box_session *session_of_device(CUdevice device);
const struct wire_device *session_device(CUdevice device);

// Callbacks for events of the layers above. The thread that reads the link calls them; they must
// not block.
struct session_listener {
    void (*data_wanted)(struct box_session *session, uint32_t job);
    void (*event_reached)(struct box_session *session, const struct wire_reached *reached);
    void (*host_function_due)(struct box_session *session, const struct wire_host_function *due);
    // KIND is one of EVENT_GRAPH_...; DATA has BYTES bytes.
    void (*graph_calls)(struct box_session *session, enum wire_event_kind kind,
                        const struct wire_callback *callback, const void *data, uint32_t bytes);
    // Takes ownership of PAYLOAD.
    void (*peer_frame)(struct box_session *session, const struct wire_peer_frame *frame,
                       void *payload);
    void (*peer_over)(struct box_session *session, const struct wire_peer_over *over);
    void (*lost)(struct box_session *session);
};
// Set before the first session is opened.
extern const struct session_listener *session_listener;

// Marks the session as lost, logs the first reason, and wakes all waiters.
void session_fail(struct box_session *session, CUresult result, const char *reason);
static inline CUresult session_lost(const struct box_session *session)
{
    return (CUresult)atomic_load_explicit(&((struct box_session *)session)->lost,
                                          memory_order_relaxed);
}

// Returns true if the box supports a request. A box of another release may lack it, or use another
// form of it.
static inline bool session_knows(const struct box_session *session, unsigned int op)
{
    return session->knows[op / 64] >> op % 64 & 1;
}

// Closes the link and frees the session, which no other thread may use.
void session_free(struct box_session *session);
// Closes inherited connections in a forked child without a message to the box.
void sessions_abandon(void);

#endif
