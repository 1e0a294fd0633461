// SPDX-License-Identifier: BSD-3-Clause
// Suspended leases on this box: their workers are paused, their device memory is in host memory,
// and other leases may use the GPUs. Their clients stay connected and wait. This file has the
// state; suspension_orders.c takes orders, and suspension_steps.c executes them.
#ifndef RGPU_DAEMON_SUSPENSION_H
#define RGPU_DAEMON_SUSPENSION_H

#include <jansson.h>

#include "daemon/rgpud/box/box.h"

enum {
    SUSPENSION_MEMBERS_MAX = 1024,
    // bytes of a GPU that the driver may need in addition to restore memory
    SUSPENSION_SPARE_BYTES = 32 << 20,
};

enum suspension_state {
    SUSPENSION_NONE,      // the sessions run; `problem` may say why they could not be suspended
    SUSPENSION_PAUSING,   // the workers finish their work and pause
    SUSPENSION_LEAVING,   // their memory is moved to the host
    SUSPENSION_AWAY,      // their memory is in the host
    SUSPENSION_RETURNING, // their memory is moved back
    SUSPENSION_UNCLEAR,   // one of the last two moves failed at an unknown point
};

enum suspension_cause {
    SUSPENSION_ORDERED, // ordered by an administrator, until another order
    SUSPENSION_OF_POOL, // ordered by the broker, as long as it lists the lease
    SUSPENSION_TURN,    // other leases have their turn on the GPUs (overcommit.c)
    // idle, until the client makes a request and, in a pool, the broker has returned the GPUs
    SUSPENSION_IDLE,
    SUSPENSION_MOVING, // until it can resume on another GPU
};

struct suspension {
    TAILQ_ENTRY(suspension) link;
    struct box *box;
    char lease[128];
    uint64_t session; // number of a session without a lease
    enum suspension_state state;
    enum suspension_cause cause;
    bool away_wanted; // true: the lease must be suspended; false: it must resume
    // other leases have their turn, so the lease must not resume yet (overcommit.c)
    bool others_turn;
    // Idle suspension in a pool: the broker knows of it; the client has made a request; the broker
    // knows of the request; the broker has given the GPUs to other leases.
    bool reported, called, reported_called, given;
    uint32_t number; // number of the pause, which the workers repeat
    struct suspender *helper;
    // Away, but the driver has not moved what the workers could not move, mainly their contexts.
    bool light;
    bool must_deepen;                 // that memory is needed
    bool cannot_deepen;               // the driver has refused
    bool puts_back;                   // the suspender moves memory back, perhaps to other GPUs
    uint64_t bytes;                   // size of the images
    uint64_t needed[BOX_DEVICES_MAX]; // bytes of each GPU that it needs to resume
    int64_t since_ms, retry_ms;
    char problem[256]; // reason of the last failure
    struct event *tick;
};

// Returns true if a client with this grant must wait: its lease is suspended, or others are whose
// contexts have yet to leave its GPUs.
bool suspension_delays(struct box *box, const struct session_grant *grant);
// Returns the state of a worker's session as a word such as "pausing"; NULL if it runs.
const char *suspension_word(const struct worker_process *worker);
// Describes the suspension of this name. The caller owns the reference. NULL: there is none.
json_t *suspension_show(const struct box *box, const char *name);
uint64_t suspension_bytes(const struct box *box); // size of all images
// Returns the bytes that the suspended workers have on the GPU with this index.
uint64_t suspension_rest(const struct suspension *s, uint32_t index);
// Returns the number of sessions whose memory is not on DEVICE; NULL: on any device.
unsigned suspension_sessions(const struct box *box, const struct box_device *device);

// ---- for suspension_orders.c, suspension_steps.c and the files that decide for them ----
//
// Ends an idle suspension, because the client has made a request. If the broker knows of the
// suspension, it may have given the GPUs away; the session then resumes when the broker returns
// them.
void suspension_wake(struct suspension *s);
// Returns true if only the driver can bring the sessions back, or is at work on them.
bool suspension_needs_driver(const struct suspension *s);
// Returns true if the worker's memory may be on another GPU than that of its grant.
bool suspension_moves(const struct suspension *s, const struct worker_process *worker);
// Returns the GPUs on which its suspended workers have memory.
device_set suspension_rests_on(const struct suspension *s);
// Returns true if a light suspension leaves its GPUs altogether once others use them. It does not
// if leases take turns, or if the GPUs stay those of the idle session.
bool suspension_gives_way(const struct suspension *s);
// Return the suspension of this name, or of this worker's session; NULL if there is none.
struct suspension *suspension_find(const struct box *box, const char *name);
struct suspension *suspension_of(const struct worker_process *worker);
// Lists the workers of a suspension, at most SUSPENSION_MEMBERS_MAX. Returns their number.
size_t suspension_members(const struct suspension *s, struct worker_process **list);
// Returns true if one of its clients waits for an answer.
bool suspension_is_called(const struct suspension *s);
// Sets the state, logs it, and schedules a review of the box.
void suspension_move(struct suspension *s, enum suspension_state state);
// Removes and frees a suspension. Kills its suspender.
void suspension_release(struct suspension *s);

#endif
