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

// A thread that waits for a reply or another event. Lies on that thread's stack. The session's lock
// protects it while it is registered (waiting.h).
struct waiter {
    bool done;         // the event has arrived, and the members below are set
    CUresult result;   // of the request
    CUresult deferred; // error of earlier work, which the box reports with this reply
    void *reply;       // buffer for the fixed outputs of the request, exactly reply_size bytes
    size_t reply_size;
    void *bytes; // buffer of bytes_room bytes for outputs of variable length
    size_t bytes_room;
    size_t bytes_used;      // bytes that arrived there
    pthread_cond_t changed; // signalled when the thread should check its condition again
    struct waiter *next;    // in session->waiting
};

// A pull: a copy from the GPU to this process, whose data arrives as events.
struct pending_pull {
    uint32_t job; // its number, unique in the session
    uint8_t *destination;
    uint64_t size;         // bytes
    struct waiter *waiter; // NULL: no thread waits for its end
    bool later; // no thread waits, and the program's next call will probably read the event
    struct pending_pull *next; // in session->pulls
};

struct box_session {
    char box[160];                   // name and address, for messages
    char address[ENDPOINT_TEXT_MAX]; // the address that answered
    char release[64];                // rgpu release of the box
    uint64_t id;                     // number of the session on the box
    uint32_t reconnect_ms;           // how long a lost connection is waited for; 0: not at all
    enum control_protection protection;
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES]; // of the box's kernel; zeros: unknown
    struct control_stream stream;       // the connection; the link owns it if the transport is TCP
    struct link *link;                  // carries calls and data; owned
    char transport_reason[256];         // why this transport was chosen
    const struct link_staging *staging; // NULL if the link can neither share nor reach memory
    const struct memory_model *memory;  // abilities of the link with memory
    bool mirrors_host;                  // the box mirrors page-locked memory from the beginning
    bool mirrors_on_demand;             // the box mirrors host memory that kernels use
    const char *transport;              // name of the link's transport
    struct staging *blocks;             // this side's account of the staging blocks
    uint32_t spin_us; // time that a waiting thread spins before it sleeps, in microseconds
    uint64_t knows[SESSION_OPS / 64]; // a bit for each request that the box supports
    CUdevice first_device;            // the program's first device on this box
    uint32_t device_count;            // devices of the box, including those hidden from the program
    int driver_version;
    bool budgeted;               // the lease has a memory share instead of whole GPUs
    struct wire_device *devices; // device_count entries; owned
    struct wire_peer *peers;     // device_count * device_count entries, row by row; owned

    _Atomic unsigned int captures; // running captures of this session's streams
    // The program has created a stream; it has created one that the legacy default stream waits
    // for.
    _Atomic bool streams, blocking_streams;
    struct wait_estimate sync_waits; // expected duration of waits for streams and contexts
    // After the box has refused a flag: the number of next waits that query the box instead.
    _Atomic uint32_t syncs_to_ask;
    _Atomic bool takes_graph_blocks; // the box knows that this process accepts EVENT_GRAPH_BLOCK
    _Atomic bool graphs_allocate;    // a graph of the session allocates memory
    // Requests of work, numbered from 1 in the order of sending: the number of the latest one, and
    // the number up to which all are known to be done. The latest requests that one thread sent to
    // one stream form a run (client-lib/cuda/objects/known_idle.h): `run` identifies it, 0 for
    // none, and run_begins is the number of its first request.
    struct work_count {
        _Atomic uint64_t sent, done, run, run_begins, run_stream;
        _Atomic uint64_t context; // handle of the context that sent all work so far; 0: none yet
        _Atomic bool several;     // more than one context has sent work
    } work;
    _Atomic uint64_t requests; // requests sent in total; written by the holder of the sending side
    unsigned forced_paths; // PATH_BITs of the copy paths that the user or the box forces; 0: none
    // nanoseconds that senders have waited for space in the link; written by the holder of the
    // sending side
    uint64_t room_waited;
    _Atomic int lost; // result of every call after the session is lost; 0 while it lives

    // Reading the link, and waiting for its events. `lock` protects all members below.
    pthread_mutex_t lock;
    bool receiving;                      // a thread reads the link
    bool service_receiving;              // that thread is the service thread
    struct waiter *waiting;              // all waiters
    struct waiter *calls[SESSION_CALLS]; // waiters for replies, by call number modulo SESSION_CALLS
    uint32_t next_call;                  // call number that was used last
    uint32_t credits;                    // number of blocks of WIRE_BLOCK_SIZE that may be pushed
    // Held by a thread from the first block of its push to the last. Otherwise a push could use up
    // all credits although its work waits on the GPU for another push. Not protected by `lock`.
    pthread_mutex_t pushing;
    uint32_t next_job;          // job number that was used last
    struct pending_pull *pulls; // registered pulls
    // number of events that may arrive while no thread waits (session_expect); read without lock
    _Atomic unsigned int expecting;
    unsigned int later;    // number of these that session_expect_later counts
    unsigned int receipts; // number of reads of the link so far
    bool service_started;  // the service thread exists
    bool crowded;          // the service thread should take in acknowledgements
    bool service_sleeps;   // the service thread sleeps until service_needed is signalled
    pthread_cond_t service_needed;
    // data of pulls that is being received; owned by the receiving thread, not by `lock`
    struct link_ahead data_ahead;
    _Alignas(16) uint8_t record[WIRE_RECORD_MAX]; // owned by the receiving thread too
};

// The sessions of this process, in the order of their devices: session_count entries. cuInit or
// sessions_reach (opening.h) opens a session, and it exists until the process ends.
extern struct box_session *sessions[];
extern _Atomic unsigned int session_count;
// Number of devices that cuDeviceGetCount reports. Devices with higher numbers were added by
// sessions_reach.
extern int session_device_count;
// Assigns the program's next device number to the box's device NUMBER, and returns it.
CUdevice session_number(struct box_session *session, uint32_t number);
void session_forget_devices(void); // removes all device numbers of the program
// Returns the box's number of the program's device; CU_DEVICE_INVALID for a wrong number.
int box_device_number(CUdevice device);
// Returns the program's number of the box's device NUMBER; CU_DEVICE_INVALID if it has none.
CUdevice session_shown(const struct box_session *session, uint32_t number);
// Returns the session that owns the program's device, or NULL for a wrong number.
struct box_session *session_of_device(CUdevice device);
// Returns the description of the program's device, which the session owns; NULL for a wrong number.
const struct wire_device *session_device(CUdevice device);

// Callbacks for events of the layers above. The thread that reads the link calls them; they must
// not block.
struct session_listener {
    // The box requests the data of a late push.
    void (*data_wanted)(struct box_session *session, uint32_t job);
    // A stream has reached the recording of an event that a stream of another box waits for.
    void (*event_reached)(struct box_session *session, const struct wire_reached *reached);
    // A stream has reached a function of the program.
    void (*host_function_due)(struct box_session *session, const struct wire_host_function *due);
    // A callback of a graph is due or ended. KIND is one of EVENT_GRAPH_...; DATA has BYTES bytes
    // and is valid during the call.
    void (*graph_calls)(struct box_session *session, enum wire_event_kind kind,
                        const struct wire_callback *callback, const void *data, uint32_t bytes);
    // A box sends a frame for another box. Takes ownership of PAYLOAD (frame->bytes bytes).
    void (*peer_frame)(struct box_session *session, const struct wire_peer_frame *frame,
                       void *payload);
    // A copy over a peer link, or the link, has ended.
    void (*peer_over)(struct box_session *session, const struct wire_peer_over *over);
    void (*lost)(struct box_session *session); // the session is lost
};
// The listener of all sessions; set before the first one is opened.
extern const struct session_listener *session_listener;

// Marks the session as lost, reports REASON to the user, and wakes all waiters. RESULT becomes the
// result of every later call. Does nothing if the session is lost already.
void session_fail(struct box_session *session, CUresult result, const char *reason);
// Returns the result of every call of a lost session; CUDA_SUCCESS while the session lives.
static inline CUresult session_lost(const struct box_session *session)
{
    return (CUresult)atomic_load_explicit(&((struct box_session *)session)->lost,
                                          memory_order_relaxed);
}

// Returns true if the box supports the request OP (enum cuda_op) in the form that this library
// sends. A box of another release may not.
static inline bool session_knows(const struct box_session *session, unsigned int op)
{
    return session->knows[op / 64] >> op % 64 & 1;
}

// Closes the link and frees the session. No other thread may use SESSION.
void session_free(struct box_session *session);
// Called in a forked child: closes the inherited connections without a message to the box, because
// the parent continues to use the sessions.
void sessions_abandon(void);

#endif
