// SPDX-License-Identifier: BSD-3-Clause
// Leases whose sessions are suspended on this box: their workers are quiet, what they had in the GPUs' memory lies in
// the box's, and the GPUs are for others. The clients wait, connected. What is known of them is here; suspension_orders.c
// says what is to become of them, and suspension_steps.c does it.
#ifndef RGPU_DAEMON_SUSPENSION_H
#define RGPU_DAEMON_SUSPENSION_H

#include <jansson.h>

#include "daemon/box.h"

enum {
    SUSPENSION_MEMBERS_MAX = 1024,
    SUSPENSION_SPARE_BYTES = 32 << 20, // that the driver may want besides what a session had
};

enum suspension_state {
    SUSPENSION_NONE,      // the sessions run; why they are not suspended is known
    SUSPENSION_PAUSING,   // the workers come to a rest
    SUSPENSION_LEAVING,   // their memory is taken off the GPUs
    SUSPENSION_AWAY,      // it is in the box's memory
    SUSPENSION_RETURNING, // it is put back
    SUSPENSION_UNCLEAR,   // one of both, and the driver has not said how far it came
};

enum suspension_cause {
    SUSPENSION_ORDERED, // stays so until it is ordered otherwise
    SUSPENSION_OF_POOL, // as long as the broker says so
    SUSPENSION_TURN,    // while others have their turn on its GPUs (overcommit.c)
    SUSPENSION_IDLE, // until the client asks for something, and in a pool the broker has its GPUs free again
    SUSPENSION_MOVING, // only until it can be put on another GPU
};

struct suspension {
    TAILQ_ENTRY(suspension) link;
    struct box *box;
    char lease[128];
    uint64_t session; // where that has no name
    enum suspension_state state;
    enum suspension_cause cause;
    bool away_wanted; // else it is to come back
    bool others_turn; // which it is not to do yet (overcommit.c)
    // Of one that is idle, in a pool: the broker has been told; that the client asks for something; it has said that the
    // GPUs are for others.
    bool told, called, told_called, given;
    uint32_t number; // of the pause
    struct suspender *helper;
    bool puts_back;                   // what it does, perhaps on other GPUs
    uint64_t bytes;                   // of the images
    uint64_t needed[BOX_DEVICES_MAX]; // of each GPU, to come back
    int64_t since_ms, retry_ms;
    char problem[256]; // of the last step that did not work
    struct event *tick;
};

// Whether clients with this grant have to wait for one.
bool suspension_delays(struct box *box, const struct session_grant *grant);
// "pausing" and so on; NULL: its session runs.
const char *suspension_word(const struct worker_process *worker);
// The state of one, for those who wait for it; NULL: there is none of that name.
json_t *suspension_show(const struct box *box, const char *name);
uint64_t suspension_bytes(const struct box *box); // of all images
// How many have their memory away from this device; NULL: from any.
unsigned suspension_sessions(const struct box *box, const struct box_device *device);

// For those two, and for who decides for them.
// One that is idle is asked for something: it is to come back. What the broker may have given to others by now is the
// broker's to give back.
void suspension_wake(struct suspension *s);
// The one of this name, or of this worker's session; NULL: there is none.
struct suspension *suspension_find(const struct box *box, const char *name);
struct suspension *suspension_of(const struct worker_process *worker);
// The workers that serve it: how many, of SUSPENSION_MEMBERS_MAX at most.
size_t suspension_members(const struct suspension *s, struct worker_process **list);
// Whether the client of any of them waits for an answer.
bool suspension_is_called(const struct suspension *s);
void suspension_move(struct suspension *s, enum suspension_state state);
void suspension_release(struct suspension *s);

#endif
