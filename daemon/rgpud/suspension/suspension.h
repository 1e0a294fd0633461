// SPDX-License-Identifier: BSD-3-Clause
// Tracks suspended leases on this box. Their workers are quiet, their GPU memory is in the box's
// memory, and other leases may use the GPUs. Their clients stay connected and wait. This file has
// the state; suspension_orders.c takes the orders and suspension_steps.c carries them out.
#ifndef RGPU_DAEMON_SUSPENSION_H
#define RGPU_DAEMON_SUSPENSION_H

#include <jansson.h>

#include "daemon/rgpud/box/box.h"

enum {
    SUSPENSION_MEMBERS_MAX = 1024,
    // extra bytes of a GPU that the driver may need for a restore
    SUSPENSION_SPARE_BYTES = 32 << 20,
};

enum suspension_state {
    SUSPENSION_NONE,      // the sessions run; `problem` may say why they are not suspended
    SUSPENSION_PAUSING,   // the workers finish their work and pause
    SUSPENSION_LEAVING,   // their memory moves off the GPUs
    SUSPENSION_AWAY,      // it is in the box's memory
    SUSPENSION_RETURNING, // it moves back
    SUSPENSION_UNCLEAR,   // one of the last two moves was interrupted at an unknown point
};

enum suspension_cause {
    SUSPENSION_ORDERED, // until another order
    SUSPENSION_OF_POOL, // as long as the broker orders it
    SUSPENSION_TURN,    // while other leases have their turn on its GPUs (overcommit.c)
    // until the client makes a call and, in a pool, the broker has returned its GPUs
    SUSPENSION_IDLE,
    SUSPENSION_MOVING, // only until it can return on another GPU
};

struct suspension {
    TAILQ_ENTRY(suspension) link;
    struct box *box;
    char lease[128];
    uint64_t session; // number of the session, if the lease has no name
    enum suspension_state state;
    enum suspension_cause cause;
    bool away_wanted; // false: it must return
    bool others_turn; // it must not return yet (overcommit.c)
    // For an idle suspension in a pool: the broker knows it; the client wants to continue; the
    // broker knows that; the broker has given the GPUs to others.
    bool reported, called, reported_called, given;
    uint32_t number; // of the pause
    struct suspender *helper;
    bool puts_back;                   // the helper restores memory, perhaps on other GPUs
    uint64_t bytes;                   // size of the images
    uint64_t needed[BOX_DEVICES_MAX]; // bytes of each GPU for the return
    int64_t since_ms, retry_ms;
    char problem[256]; // reason that the last step failed
    struct event *tick;
};

// Returns true if a client with this grant must wait because its lease is suspended.
bool suspension_delays(struct box *box, const struct session_grant *grant);
// Returns the state as a word such as "pausing", or NULL if the worker's session runs.
const char *suspension_word(const struct worker_process *worker);
// Describes the suspension with this name, or returns NULL if there is none.
json_t *suspension_show(const struct box *box, const char *name);
uint64_t suspension_bytes(const struct box *box); // size of all images
// Returns the number of sessions whose memory is off this device; NULL means off any device.
unsigned suspension_sessions(const struct box *box, const struct box_device *device);

// The functions below are for suspension_orders.c, suspension_steps.c and the parts that decide for
// them.
//
// Ends an idle suspension because its client made a call. If the broker knows of the suspension, it
// may have given the GPUs to others; the box then waits until the broker returns them.
void suspension_wake(struct suspension *s);
// Return the suspension with this name, or that of this worker's session. Return NULL if there is
// none.
struct suspension *suspension_find(const struct box *box, const char *name);
struct suspension *suspension_of(const struct worker_process *worker);
// Stores the workers of the suspension in LIST, at most SUSPENSION_MEMBERS_MAX. Returns their
// number.
size_t suspension_members(const struct suspension *s, struct worker_process **list);
// Returns true if any of its clients waits for an answer.
bool suspension_is_called(const struct suspension *s);
// Changes the state, logs it, and schedules a review of the box.
void suspension_move(struct suspension *s, enum suspension_state state);
// Removes and frees a suspension, and kills its helper.
void suspension_release(struct suspension *s);

#endif
