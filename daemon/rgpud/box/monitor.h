// SPDX-License-Identifier: BSD-3-Clause
// Reads memory use and utilization of the GPUs. A separate process, the GPU monitor (rgpu-monitor),
// calls the management library (NVML) in rounds.
#ifndef RGPU_DAEMON_MONITOR_H
#define RGPU_DAEMON_MONITOR_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/rgpud/box/devices.h"
#include "proto/gpu_faults.h"
#include "proto/nvml_questions.h"

enum { MONITOR_GPUS_MAX = 64, MONITOR_PROCESSES_MAX = 4096, MONITOR_XIDS_MAX = 256 };

struct monitor_gpu {
    char uuid[48];    // "GPU-...", or "MIG-..." for an instance
    bool partitioned; // divided into instances, which are in this list too
    struct monitor_instance {
        char parent[48]; // UUID of the divided GPU; "": this is not an instance
        unsigned gpu_instance, compute_instance, capability;
        char pci[16], name[128]; // PCI address of the parent; name of the instance
    } instance;
    unsigned number; // number in the library
    uint64_t used, total;
    struct figure utilization, memory_utilization, temperature, power,
        energy;  // percent, degrees Celsius, milliwatts, millijoules
    bool hidden; // the library does not report processes of the GPU
    struct figure counters[GPU_COUNTERS_MAX];
    struct monitor_answers answers;
};

struct monitor_process {
    unsigned gpu; // index of the GPU
    pid_t pid;
    uint64_t used;
    struct figure utilization;
};

struct monitor_round {
    // The round has only the utilization of GPUs and of active processes. `hidden` then means that
    // the library does not report active processes.
    bool is_glance;
    unsigned gpu_count, process_count;
    struct monitor_answers system; // answers that concern no single GPU
    struct monitor_gpu gpus[MONITOR_GPUS_MAX];
    struct monitor_process processes[MONITOR_PROCESSES_MAX];
    unsigned xid_count;
    struct monitor_xid {
        char uuid[48]; // of a GPU; instances have no Xid errors of their own
        unsigned number;
    } xids[MONITOR_XIDS_MAX]; // Xid errors since the last round
};

struct monitor_settings {
    const char *program, *library; // owned by the caller
    int driver_fd;                 // memory file that software GPUs share; -1: none
    uint64_t interval;             // microseconds between two rounds
};

struct monitor;

// Receives a round. ROUND is NULL if the monitor has ended, does not work, or has not reported in
// time.
typedef void monitor_took(void *argument, const struct monitor_round *round);

// Starts the monitor. Returns NULL if memory is exhausted. A monitor that fails to start counts as
// one that has ended.
struct monitor *monitor_open(struct event_base *base, const struct monitor_settings *settings,
                             monitor_took *took, void *argument);
// Makes rounds read the library's answers for clients for a while, beginning at once. Otherwise
// they do so once a minute, to save processor time. MONITOR may be NULL.
void monitor_want_answers(struct monitor *monitor);
// Requests a glance: an immediate reading of utilization only. Returns false if there will be none.
// MONITOR may be NULL.
bool monitor_glance(struct monitor *monitor) __attribute__((warn_unused_result));
void monitor_reap(struct monitor *monitor); // must be called after SIGCHLD
void monitor_close(struct monitor **monitor);

#endif
