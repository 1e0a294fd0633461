// SPDX-License-Identifier: BSD-3-Clause
// Reads memory use and utilization of the GPUs from the management library. The GPU monitor
// (rgpu-monitor, a separate process) calls the library.
#ifndef RGPU_DAEMON_MONITOR_H
#define RGPU_DAEMON_MONITOR_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/rgpud/box/devices.h"
#include "proto/nvml_questions.h"

enum { MONITOR_GPUS_MAX = 64, MONITOR_PROCESSES_MAX = 4096 };

struct monitor_gpu {
    char uuid[48];    // "GPU-...", or "MIG-..." for an instance
    bool partitioned; // into instances, which are also in this list
    struct monitor_instance {
        char parent[48]; // UUID of the divided GPU; "": not an instance
        unsigned gpu_instance, compute_instance, capability;
        char pci[16], name[128]; // PCI address of the parent; name of the instance
    } instance;
    unsigned number; // in the library
    uint64_t used, total;
    struct figure utilization, memory_utilization, temperature,
        power;   // percent, degrees Celsius, milliwatts
    bool hidden; // the library does not report its processes
    struct monitor_answers answers;
};

struct monitor_process {
    unsigned gpu; // index of the GPU
    pid_t pid;
    uint64_t used;
    struct figure utilization;
};

struct monitor_round {
    // The round has only the utilization of GPUs and processes. Processes without activity are
    // missing. `hidden` means that the library does not report which processes are active.
    bool is_glance;
    unsigned gpu_count, process_count;
    struct monitor_answers system; // answers about no particular GPU
    struct monitor_gpu gpus[MONITOR_GPUS_MAX];
    struct monitor_process processes[MONITOR_PROCESSES_MAX];
};

struct monitor_settings {
    const char *program, *library; // owned by the caller
    int driver_fd;                 // memory that software GPUs share
    uint64_t interval;             // microseconds between two rounds
};

struct monitor;

// Receives a round. ROUND is NULL if the monitor ended, cannot be used, or has not reported in
// time.
typedef void monitor_took(void *argument, const struct monitor_round *round);

// Starts the monitor. Returns NULL if memory is out. A monitor that does not start is treated as
// one that ended.
struct monitor *monitor_open(struct event_base *base, const struct monitor_settings *settings,
                             monitor_took *took, void *argument);
// Requests the library's answers for a client. For a while, each round reads them again, starting
// at once. Otherwise rounds read them once a minute to save processor time. Does nothing if MONITOR
// is NULL.
void monitor_want_answers(struct monitor *monitor);
// Requests a glance, a quick reading of the current utilization. Returns false if no reading will
// follow, also if MONITOR is NULL.
bool monitor_glance(struct monitor *monitor) __attribute__((warn_unused_result));
void monitor_reap(struct monitor *monitor); // handles SIGCHLD: checks if the monitor ended
void monitor_close(struct monitor **monitor);

#endif
