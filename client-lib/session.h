// A session: this process's connection to one box, the devices that it gives, and the events that
// come from its worker.
#ifndef RGPU_CLIENT_SESSION_H
#define RGPU_CLIENT_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/session_client.h"
#include "proto/wire.h"
#include "transport/link.h"

struct staging;

enum { SESSION_CALLS = 1024 }; // requests of one session that wait for a reply at one time

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
struct pull {
    uint32_t job;
    uint8_t *destination;
    uint64_t size;
    struct waiter *waiter; // NULL: nobody waits for its end
    struct pull *next;
};

struct session {
    char box[160]; // name and address, for messages
    uint64_t id;
    struct control_stream stream; // the connection; the link's own where the transport is tcp
    struct link *link;
    const struct link_staging *staging; // NULL where memory is neither shared nor reached
    bool reached;                       // the worker reads and writes our memory one-sidedly
    struct staging *blocks;             // this side's account of the staging blocks
    uint32_t spin_us;
    CUdevice first_device;              // program's number of devices[0]
    uint32_t device_count;
    int driver_version;
    struct wire_device *devices;
    struct wire_peer *peers; // device_count squared

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
    struct pull *pulls;
    _Atomic unsigned int expecting; // events that may come while nobody waits; read without lock
    bool service_started;
    pthread_cond_t service_needed;
    _Alignas(16) uint8_t record[WIRE_RECORD_MAX]; // of the thread that receives
};

// Opens sessions to the boxes that the environment names, numbering the devices in one list.
// CUDA_SUCCESS, or what cuInit is to return; the reason has been said on standard error.
CUresult sessions_open(void);
extern struct session *sessions[];
extern unsigned int session_count;
extern int session_device_count;
// The session that owns the program's device; NULL for a wrong number.
struct session *session_of_device(CUdevice device);
const struct wire_device *session_device(CUdevice device);

// Marks the session as lost, for a reason that is logged once, and wakes whoever waits.
void session_fail(struct session *session, CUresult result, const char *reason);
static inline CUresult session_lost(const struct session *session)
{
    return (CUresult)atomic_load_explicit(&((struct session *)session)->lost,
                                          memory_order_relaxed);
}

// Waiting. session_prepare gives the number under which the reply will come (0: too many calls);
// session_wait receives events until the waiter is done or the session is lost.
uint32_t session_prepare(struct session *session, struct waiter *waiter);
void session_wait(struct session *session, struct waiter *waiter);
// One credit, waiting for it. False: the session is lost.
bool session_take_credit(struct session *session);
// Pulls: announce before the request goes out; end when data is complete or the request failed.
void session_add_pull(struct session *session, struct pull *pull);
uint32_t session_new_job(struct session *session);
void session_drop_pull(struct session *session, struct pull *pull);
// Says that events will come which no caller waits for (+1), or have come (-1).
void session_expect(struct session *session, int change);
// Whether work is under way that may write to this process's memory on its own account.
bool session_expecting(struct session *session);

// After fork, in the child: closes what it inherited without a word to the box.
void sessions_abandon(void);

// Makes the session's link over the wanted or the best transport (choose.c). On -1 an error->result
// of 0 means that another session, over tcp, may succeed.
int session_choose_link(struct session *session, const struct session_welcome *welcome,
                        enum control_transport wanted, struct session_error *error);

// How RGPU_TRANSPORT and RGPU_PROTECTION read; -EINVAL: unknown word, reported.
int transport_choice(enum control_transport *choice);
int protection_choice(enum control_protection *choice);

#endif
