// SPDX-License-Identifier: BSD-3-Clause
// What the GPUs' management library says of their memory and of how busy they are, by way of rgpu-gauge, a process of its own.
#ifndef RGPU_DAEMON_GAUGE_H
#define RGPU_DAEMON_GAUGE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/devices.h"
#include "proto/nvml_questions.h"

enum { GAUGE_GPUS_MAX = 64, GAUGE_PROCESSES_MAX = 4096 };

struct gauge_gpu {
    char uuid[48];    // "GPU-...", of an instance "MIG-..."
    bool partitioned; // into instances, which are GPUs of this list
    struct gauge_instance {
        char parent[48]; // "": it is no instance
        unsigned gpu_instance, compute_instance, capability;
        char pci[16], name[128]; // the parent's place; its own name
    } instance;
    unsigned number; // in the library
    uint64_t used, total;
    struct figure utilization, memory_utilization, temperature,
        power;   // percent, degrees Celsius, milliwatts
    bool hidden; // it is not told by which processes
    struct gauge_answers answers;
};

struct gauge_process {
    unsigned gpu; // index of the GPU
    pid_t pid;
    uint64_t used;
    struct figure utilization;
};

struct gauge_round {
    // Only how busy GPUs and processes are was asked: the rest is not there, nor are processes that did nothing, and
    // `hidden` says that it is not told which did.
    bool is_glance;
    unsigned gpu_count, process_count;
    struct gauge_answers system; // about no GPU
    struct gauge_gpu gpus[GAUGE_GPUS_MAX];
    struct gauge_process processes[GAUGE_PROCESSES_MAX];
};

struct gauge_settings {
    const char *program, *library; // stay the caller's
    int driver_fd;                 // what software GPUs share
    uint64_t interval;             // microseconds between two rounds
};

struct gauge;

// ROUND NULL: there are no figures, or not yet, although they were waited for.
typedef void gauge_took(void *argument, const struct gauge_round *round);

// Starts the process. NULL: no memory; a process that does not start counts as one that ends.
struct gauge *gauge_open(struct event_base *base, const struct gauge_settings *settings,
                         gauge_took *took, void *argument);
// A client wants what the library answers: for a while it is asked again with each round, the first of which is at
// once. Otherwise once a minute, as that takes processor time. NULL: does nothing.
void gauge_want_answers(struct gauge *gauge);
// Asks how busy the GPUs are at this moment, which a glance tells soon. False, also with NULL: nothing will.
bool gauge_glance(struct gauge *gauge) __attribute__((warn_unused_result));
void gauge_reap(struct gauge *gauge); // a child has ended, perhaps it
void gauge_close(struct gauge **gauge);

#endif
