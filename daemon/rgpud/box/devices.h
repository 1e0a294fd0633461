// SPDX-License-Identifier: BSD-3-Clause
// Devices of a box: the administrator's choice, the state of each device, and sets of devices.
#ifndef RGPU_DAEMON_DEVICES_H
#define RGPU_DAEMON_DEVICES_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/net/control.h"
#include "proto/gpu_faults.h"
#include "proto/nvml_questions.h"

enum { BOX_DEVICES_MAX = CONTROL_DEVICES_MAX };

// The setting `devices`, parsed before the driver reports the existing ones.
struct device_choice {
    bool software; // sim:COUNT; false: cuda:...
    bool all;
    uint32_t count; // number of ordinals, or of software devices
    uint32_t ordinals[BOX_DEVICES_MAX];
};

// Warm workers of a device: they have a context and wait for a client.
struct warm_pool {
    unsigned starting, warm; // maintained by worker_process.c
    unsigned dying;          // have exited before a session and are not reaped yet
    unsigned failures;       // consecutive failed starts
    struct event *retry;     // pending during the pause after a failed start
    int64_t short_since_ms;  // time since when warm workers are missing; 0: none is missing
    const char *held;        // reason why missing workers are not started, or NULL
    struct event *again;     // pending until delayed starts are considered again
    char last_error[512];    // reason of the last failed start
};

// A value from the management library (NVML).
struct figure {
    bool known;
    int64_t value;
};

// The library's answers to queries of clients (proto/nvml_questions.h), which rgpud passes on
// unread.
struct monitor_answers {
    size_t size;
    uint8_t bytes[NVML_ANSWERS_MAX];
};

// The reaction of the box to a fault: it counts it, logs it, takes the GPU out of service for new
// leases, or also ends the sessions there.
enum health_action { HEALTH_COUNT, HEALTH_WARN, HEALTH_DRAIN, HEALTH_END };
enum { HEALTH_ACTIONS = 4 };

// Faults of a GPU (health.h).
struct gpu_health {
    unsigned last_xid; // 0: none so far
    uint64_t counts[FAULT_CLASSES];
    struct figure counters[GPU_COUNTERS_MAX]; // as last read
    char word[48];                            // last fault that was more than counted; "": none
    char text[160];                           // reason why the GPU is out of service
    enum health_action action;                // strongest action that the broker does not know
    bool due;                                 // the broker is to drain the GPU
    bool named;                               // the report under way says so
};

struct box;
struct mps_daemon;
struct box_device {
    struct box *box;
    struct control_device info; // description by the driver
    uint32_t ordinal;
    char uuid[48]; // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", or "MIG-..." for an instance
    bool instance; // instance of a divided GPU (instances.h)
    unsigned gpu_instance, compute_instance; // its MIG instance numbers
    char place[200]; // NUMA node and the like of its workers, as the last one reported
    bool keep_warm;
    bool measured;     // the memory that a context takes is known
    unsigned sessions; // number of sessions that use it
    // memory that all processes use, from the management library; 0: unknown
    uint64_t driver_bytes;
    uint64_t held_bytes;     // bytes of this box's sessions when driver_bytes was read
    unsigned library_number; // its number in the management library
    uint64_t library_memory; // total bytes, from the library; 0: unknown
    struct monitor_answers answers;
    int64_t figures_ms; // time of the last reading
    struct figure utilization, memory_utilization, temperature, power,
        processes;         // percent, degrees Celsius, milliwatts
    struct figure energy;  // millijoules that it has used since its driver was loaded
    uint64_t taken_before; // bytes in use before the first worker of this box
    uint64_t idle_bytes;   // maximum that the library reported for a warm worker
    // number of consecutive rounds in which the accounts differed (comparison.c)
    unsigned foreign_rounds, differing_rounds;
    struct gpu_health health;
    bool drained; // by the broker
    struct warm_pool pool;
    struct mps_daemon *mps; // NULL: processes share the GPU by time slices
};

// Parses "sim:2", "cuda:all" or "cuda:0,2". Returns -EINVAL after logging.
int device_choice_parse(const char *text, struct device_choice *out)
    __attribute__((warn_unused_result));
// Prints the UUID of a GPU as "GPU-...".
void device_uuid_text(const uint8_t uuid[16], char text[48]);

// Limits that MPS sets for a process when its context is created. Zeros: no limits.
struct mps_part {
    uint32_t compute; // percent of the multiprocessors
    uint64_t memory;  // bytes, including the context
};

static inline bool mps_part_equal(struct mps_part a, struct mps_part b)
{
    return a.compute == b.compute && a.memory == b.memory;
}

// Devices and limits of a session.
struct session_grant {
    char lease[128];
    int64_t epoch; // epoch of the ticket
    int64_t owner; // user id; -1: unknown
    uint32_t device_count;
    struct box_device *devices[BOX_DEVICES_MAX]; // devices in the client's order
    // devices in the ticket, which differ from `devices` after a move
    struct box_device *named[BOX_DEVICES_MAX];
    uint32_t ordinals[BOX_DEVICES_MAX]; // indexes of the devices in the lease
    uint64_t budgets[BOX_DEVICES_MAX];  // bytes for all sessions of the lease; 0: no limit
    struct mps_part part;
    // percent of each GPU's time while other leases want the GPU; 0: no limit
    unsigned time_share;
    uint64_t bandwidth;              // bytes per second over the network in each direction; 0: any
    bool exclusive[BOX_DEVICES_MAX]; // no other lease may have sessions on the device
};

// Returns true if the device is one of the grant.
bool device_is_granted(const struct session_grant *grant, const struct box_device *device);

// Set of devices that a worker can access, with a bit for each ordinal. 0, only for the first
// worker, stands for all devices of the driver. A worker can access no devices but those of its
// client.
typedef uint64_t device_set;
_Static_assert(BOX_DEVICES_MAX <= 64, "a set has a bit for each");
device_set device_set_of(const struct session_grant *grant);

#endif
