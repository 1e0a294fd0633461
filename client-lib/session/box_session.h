// SPDX-License-Identifier: BSD-3-Clause
// A session with a box: this process's connection to it, the devices that it gives, and who waits for
// what its worker sends.
#ifndef RGPU_CLIENT_BOX_SESSION_H
#define RGPU_CLIENT_BOX_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/session/memory_model.h"
#include "common/session_client.h"
#include "common/wait.h"
#include "proto/cuda_abi.h"
#include "proto/wire.h"
#include "transport/link.h"

struct staging;
struct known_paths;

enum {
    SESSIONS_MAX = 64,
    DEVICES_MAX = SESSIONS_MAX * WIRE_DEVICE_MAX,
    SESSION_OPS = 2048,   // requests have numbers below
    SESSION_CALLS = 1024, // requests of one session that wait for a reply at one time
};

// A thread that waits for something that an event brings. It lies on that thread's stack.
struct waiter {
    bool done;
    CUresult result;
    CUresult deferred;
    void *reply; // outputs, reply_size bytes exactly
    size_t reply_size;
    void *bytes; // outputs behind them
    size_t bytes_room;
    size_t bytes_used;
    pthread_cond_t changed;
    struct waiter *next; // in session->waiting
};

// A copy from the GPU whose data comes as events.
struct pending_pull {
    uint32_t job;
    uint8_t *destination;
    uint64_t size;
    struct waiter *waiter; // NULL: nobody waits for its end
    bool later;            // nobody waits, and the program's next call will most likely read it
    struct pending_pull *next;
};

struct box_session {
    char box[160];                   // name and address, for messages
    char address[ENDPOINT_TEXT_MAX]; // where it answered
    char release[64];                // of rgpu there
    uint64_t id;
    enum control_protection protection;
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES]; // of the box's kernel; zeros: not known
    struct control_stream stream; // the connection; the link's own where the transport is tcp
    struct link *link;
    char transport_reason[256];         // why this one, and no other
    const struct link_staging *staging; // NULL where memory is neither shared nor reached
    const struct memory_model *memory;  // what its link can do with memory
    bool mirrors_host;                  // the box has copies of page-locked memory, as asked for
    const char *transport;              // its name
    struct staging *blocks;             // this side's account of the staging blocks
    uint32_t spin_us;
    uint64_t knows[SESSION_OPS / 64]; // a bit for each request that the box carries out
    CUdevice first_device;            // the first of the program's that is this box's
    uint32_t device_count;            // of the box, which the program need not see
    int driver_version;
    bool budgeted; // the lease has a share of memory, and not whole GPUs
    struct wire_device *devices;
    struct wire_peer *peers; // device_count squared

    _Atomic unsigned int captures; // of its streams, that are under way
    // Of its streams: whether any was made, and any that the default stream waits for.
    _Atomic bool streams, blocking_streams;
    struct patience sync_waits;      // for streams and contexts
    _Atomic uint32_t syncs_to_ask;   // so many such waits ask the box before a flag is tried again
    _Atomic bool takes_graph_blocks; // the box has been told
    _Atomic bool graphs_allocate;    // some graph there allocates memory
    // What was sent so far, how much of it is known to be done, and the run of what one thread has sent to one stream at
    // the end, with its first (client-lib/objects/known_idle.h).
    struct work_count {
        _Atomic uint64_t sent, done, run, run_begins;
        _Atomic uint64_t context; // handle of the one that all was sent from; 0: none yet
        _Atomic bool several;     // contexts
    } work;
    _Atomic uint64_t requests; // ever; written with the sending side held
    struct known_paths *paths; // what is known of the paths of copies
    uint64_t room_waited;      // for room by those who send, so far; with the sending side held
    _Atomic int lost; // CUresult that every call gives from now on; 0 while the session lives

    // Who reads the link, and who waits for what it brings. All below is under `lock`.
    pthread_mutex_t lock;
    bool receiving;         // a thread reads the link
    bool service_receiving; // and it is the service thread
    struct waiter *waiting; // all waiters
    struct waiter *calls[SESSION_CALLS];
    uint32_t next_call;
    uint32_t credits; // blocks that may be pushed
    // Held from a push's beginning to its last block: a push that overtook one it has to wait for on
    // the GPU could use up all credits. Not under `lock`.
    pthread_mutex_t pushing;
    uint32_t next_job;
    struct pending_pull *pulls;
    _Atomic unsigned int expecting; // events that may come while nobody waits; read without lock
    unsigned int later;    // of these, that may be left for a moment to a call of the program
    unsigned int receipts; // how often somebody has read the link
    bool service_started;
    bool service_sleeps; // until it is woken
    pthread_cond_t service_needed;
    struct link_ahead
        data_ahead; // of pulls, under way; of the thread that receives, not under `lock`
    _Alignas(16) uint8_t record[WIRE_RECORD_MAX]; // likewise
};

// The sessions of this process, in the order of their devices. They are there from cuInit, or from when they were reached
// (opening.h), to the end.
extern struct box_session *sessions[];
extern _Atomic unsigned int session_count;
// Devices that the program sees. There may be further ones, by the numbers from here on, that were reached.
extern int session_device_count;
// Gives the box's device NUMBER the next number of this process.
CUdevice session_number(struct box_session *session, uint32_t number);
void session_forget_devices(void); // as if none had been numbered
// What the box calls the program's device, and the program the box's; CU_DEVICE_INVALID where it does not see it.
int box_device_number(CUdevice device);
CUdevice session_shown(const struct box_session *session, uint32_t number);
// The session that owns the program's device; NULL for a wrong number.
struct box_session *session_of_device(CUdevice device);
const struct wire_device *session_device(CUdevice device);

// What the layers above do about events that are theirs. Called by the thread that reads the link; none of
// them blocks.
struct session_listener {
    void (*data_wanted)(struct box_session *session, uint32_t job);
    void (*event_reached)(struct box_session *session, const struct wire_reached *reached);
    void (*host_function_due)(struct box_session *session, const struct wire_host_function *due);
    // One of EVENT_GRAPH_..., with BYTES of data.
    void (*graph_calls)(struct box_session *session, enum wire_event_kind kind,
                        const struct wire_callee *callee, const void *data, uint32_t bytes);
    // PAYLOAD is taken.
    void (*peer_frame)(struct box_session *session, const struct wire_peer_frame *frame,
                       void *payload);
    void (*peer_over)(struct box_session *session, const struct wire_peer_over *over);
    void (*lost)(struct box_session *session);
};
// Set before the first session is opened.
extern const struct session_listener *session_listener;

// Marks the session as lost, for a reason that is logged once, and wakes whoever waits.
void session_fail(struct box_session *session, CUresult result, const char *reason);
static inline CUresult session_lost(const struct box_session *session)
{
    return (CUresult)atomic_load_explicit(&((struct box_session *)session)->lost,
                                          memory_order_relaxed);
}

// Whether the box carries out a request. One of another release may lack it, or know another form of it.
static inline bool session_knows(const struct box_session *session, unsigned int op)
{
    return session->knows[op / 64] >> op % 64 & 1;
}

// Closes the link and forgets the session, which nobody else uses any more.
void session_free(struct box_session *session);
// After fork, in the child: closes what it inherited without a word to the box.
void sessions_abandon(void);

#endif
