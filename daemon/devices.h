// SPDX-License-Identifier: BSD-3-Clause
// The devices of a box: the administrator's choice, what is known of each, and sets of them.
#ifndef RGPU_DAEMON_DEVICES_H
#define RGPU_DAEMON_DEVICES_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/control.h"
#include "proto/nvml_questions.h"

enum { BOX_DEVICES_MAX = CONTROL_DEVICES_MAX };

// Which devices the administrator chose, before the driver has said which there are.
struct device_choice {
    bool software; // sim:COUNT, else cuda:...
    bool all;
    uint32_t count; // of ordinals, or of software devices
    uint32_t ordinals[BOX_DEVICES_MAX];
};

// The workers that wait, warm, for clients of one device.
struct warm_pool {
    unsigned starting, warm; // counted by worker_process.c
    unsigned dying;          // ended by themselves before they served, and not reaped yet
    unsigned failures;       // starts in a row that failed
    struct event *retry;     // pending while a failing worker is not started again
    int64_t short_since_ms;  // since when fewer are warm than are wanted; 0: they are not
    const char *held;        // why none is started although some are missing; NULL: nothing does
    struct event *again;     // pending while starts are held back
    char last_error[512];    // why the last start failed
};

// What the management library says of something at the moment. Zeroed: it does not say.
struct figure {
    bool known;
    int64_t value;
};

// Answers of the library to questions of clients, which nobody looks into on the way (proto/nvml_questions.h).
struct gauge_answers {
    size_t size;
    uint8_t bytes[NVML_ANSWERS_MAX];
};

struct box;
struct mps_daemon;
struct box_device {
    struct box *box;
    struct control_device info; // from the driver; ordinal is the place in the driver's list
    uint32_t ordinal;
    char uuid[48]; // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", of an instance "MIG-..."
    bool instance; // of a GPU that is divided (instances.h)
    unsigned gpu_instance, compute_instance; // its numbers there
    char place[200]; // where in the machine its workers are, as the last of them has said
    bool keep_warm;
    bool measured;           // what a context takes is known
    unsigned sessions;       // that use it
    uint64_t driver_bytes;   // taken by everybody, as the management library says; 0: not known
    uint64_t held_bytes;     // by sessions of this box, when the library said that
    unsigned library_number; // of the management library for it
    uint64_t library_memory; // bytes in all, as it says; 0: not known
    struct gauge_answers answers;
    int64_t figures_ms; // when these were taken
    struct figure utilization, memory_utilization, temperature, power,
        processes;                             // percent, degrees Celsius, milliwatts
    uint64_t taken_before;                     // that, before our first worker
    uint64_t idle_bytes;                       // the most that it says of a worker without a client
    unsigned foreign_rounds, differing_rounds; // in a row in which it differs (comparison.c)
    struct warm_pool pool;
    struct mps_daemon *mps; // NULL: processes share it by time
};

// "sim:2", "cuda:all", "cuda:0,2"; -EINVAL after logging.
int device_choice_parse(const char *text, struct device_choice *out)
    __attribute__((warn_unused_result));
void device_uuid_text(const uint8_t uuid[16], char text[48]);

// What MPS keeps a process to. Zeroed: to nothing. A context has it from its beginning.
struct mps_part {
    uint32_t compute; // percent of the multiprocessors
    uint64_t memory;  // bytes, the context's included
};

static inline bool mps_part_equal(struct mps_part a, struct mps_part b)
{
    return a.compute == b.compute && a.memory == b.memory;
}

// What a session may use.
struct session_grant {
    char lease[128];
    int64_t epoch; // of the ticket
    int64_t owner; // user that the lease is for; -1: nobody says
    uint32_t device_count;
    struct box_device *devices[BOX_DEVICES_MAX]; // in the client's order
    struct box_device
        *named[BOX_DEVICES_MAX];        // by the ticket; others where the lease has been moved
    uint32_t ordinals[BOX_DEVICES_MAX]; // which of the lease's they are
    uint64_t budgets[BOX_DEVICES_MAX];  // bytes over all sessions of the lease; 0: no limit
    struct mps_part part;
    unsigned
        time_share; // percent of each GPU's time while others want it, where these take turns; 0: no bound
    bool exclusive[BOX_DEVICES_MAX]; // no session of another lease beside it
};

bool device_is_granted(const struct session_grant *grant, const struct box_device *device);

// Devices that one worker can reach, by their ordinals; 0: whatever the driver has, which is for the first
// worker alone. A worker reaches the devices of its client and no others.
typedef uint64_t device_set;
_Static_assert(BOX_DEVICES_MAX <= 64, "a set has a bit for each");
device_set device_set_of(const struct session_grant *grant);

#endif
