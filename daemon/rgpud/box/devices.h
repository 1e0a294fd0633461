// SPDX-License-Identifier: BSD-3-Clause
// Describes the devices of a box: the administrator's choice, the state of each, and sets of them.
#ifndef RGPU_DAEMON_DEVICES_H
#define RGPU_DAEMON_DEVICES_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/net/control.h"
#include "proto/nvml_questions.h"

enum { BOX_DEVICES_MAX = CONTROL_DEVICES_MAX };

// The administrator's choice of devices, made before the driver reports the existing ones.
struct device_choice {
    bool software; // sim:COUNT; otherwise cuda:...
    bool all;
    uint32_t count; // number of ordinals, or of software devices
    uint32_t ordinals[BOX_DEVICES_MAX];
};

// The warm workers of one device, which wait for clients.
struct warm_pool {
    unsigned starting, warm; // maintained by worker_process.c
    unsigned dying;          // ended by themselves before serving, and not reaped yet
    unsigned failures;       // consecutive failed starts
    struct event *retry;     // pending while starts pause after a failure
    int64_t short_since_ms;  // time since when warm workers are missing; 0: none are
    const char *held;        // reason for not starting missing workers; NULL: none
    struct event *again;     // pending until held-back starts are reviewed again
    char last_error[512];    // reason of the last failed start
};

// A figure from the management library. Zeroed: not known.
struct figure {
    bool known;
    int64_t value;
};

// The library's answers to clients' questions (proto/nvml_questions.h). The daemon passes them on
// without interpreting them.
struct monitor_answers {
    size_t size;
    uint8_t bytes[NVML_ANSWERS_MAX];
};

struct box;
struct mps_daemon;
struct box_device {
    struct box *box;
    struct control_device info; // from the driver; ordinal is the index in the driver's list
    uint32_t ordinal;
    char uuid[48]; // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", or "MIG-..." for an instance
    bool instance; // instance of a divided GPU (instances.h)
    unsigned gpu_instance, compute_instance; // its MIG instance numbers
    char place[200]; // location of its workers in the machine, as the last of them reported
    bool keep_warm;
    bool measured;     // the memory of a context is known
    unsigned sessions; // sessions that use it
    // memory in use by all processes, from the management library; 0: not known
    uint64_t driver_bytes;
    uint64_t held_bytes;     // bytes that sessions of this box held at that reading
    unsigned library_number; // its number in the management library
    uint64_t library_memory; // total bytes, from the library; 0: not known
    struct monitor_answers answers;
    int64_t figures_ms; // time of the last reading
    struct figure utilization, memory_utilization, temperature, power,
        processes;         // percent, degrees Celsius, milliwatts
    uint64_t taken_before; // bytes in use before the first worker of this box
    uint64_t idle_bytes;   // most memory that the library reported for a warm worker
    // consecutive rounds with a difference (comparison.c)
    unsigned foreign_rounds, differing_rounds;
    struct warm_pool pool;
    struct mps_daemon *mps; // NULL: processes share the GPU by time
};

// Parses "sim:2", "cuda:all" or "cuda:0,2". Returns -EINVAL after logging.
int device_choice_parse(const char *text, struct device_choice *out)
    __attribute__((warn_unused_result));
// Prints the UUID of a GPU as "GPU-...".
void device_uuid_text(const uint8_t uuid[16], char text[48]);

// The limits that MPS sets for a process. Zeroed: no limits. A context has its limits from its
// creation.
struct mps_part {
    uint32_t compute; // percent of the multiprocessors
    uint64_t memory;  // bytes, with the context
};

static inline bool mps_part_equal(struct mps_part a, struct mps_part b)
{
    return a.compute == b.compute && a.memory == b.memory;
}

// The devices and limits of a session.
struct session_grant {
    char lease[128];
    int64_t epoch; // of the ticket
    int64_t owner; // user of the lease; -1: not known
    uint32_t device_count;
    struct box_device *devices[BOX_DEVICES_MAX]; // in the client's order
    struct box_device
        *named[BOX_DEVICES_MAX]; // devices in the ticket; these differ after a move of the lease
    uint32_t ordinals[BOX_DEVICES_MAX]; // index of each in the lease
    uint64_t budgets[BOX_DEVICES_MAX];  // bytes for all sessions of the lease; 0: no limit
    struct mps_part part;
    // percent of each GPU's time while other leases want it, if processes share it by time; 0: no
    // limit
    unsigned time_share;
    bool exclusive[BOX_DEVICES_MAX]; // no session of another lease on the device
};

// Returns true if the device is one of the grant.
bool device_is_granted(const struct session_grant *grant, const struct box_device *device);

// A set of devices that one worker can reach, one bit for each ordinal. 0 means all devices of the
// driver and is only for the first worker. A worker reaches only the devices of its client.
typedef uint64_t device_set;
_Static_assert(BOX_DEVICES_MAX <= 64, "a set has a bit for each");
device_set device_set_of(const struct session_grant *grant);

#endif
