// SPDX-License-Identifier: BSD-3-Clause
// Records the memory taken on each simulated device and the run time of its kernels, for all
// processes of the machine. The record is a small file in shared memory with one slot per process;
// slots of dead processes do not count.
#ifndef SIM_SHARED_STATE_H
#define SIM_SHARED_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/sim_config.h"

// Opens or creates the file and takes a slot. cuInit calls it once. Returns 0 or -errno, and logs
// the error.
int shared_state_open(const char *path);

// Takes `bytes` of a device with `total` bytes. Returns -ENOMEM if less is free.
int shared_state_charge(int ordinal, uint64_t bytes, uint64_t total);
void shared_state_release(int ordinal, uint64_t bytes);

// Stops counting this process's memory during a checkpoint. Only the checkpoint thread calls it.
void shared_state_put_aside(void);
// Takes all of it again, each device's share on the device that PLACES names, and continues there.
// Returns -ENOMEM if that device lacks free memory.
int shared_state_take_back(const int places[SIM_MAX_DEVICES],
                           const uint64_t totals[SIM_MAX_DEVICES]);

// Returns the device of the machine that a device of this process is mapped to.
int shared_state_place(int ordinal);

// Another process's request to this one and the answer, in this process's slot. For
// sim/engine/checkpoint.c only.
struct shared_request {
    _Atomic uint32_t state;           // CUprocessState
    _Atomic uint32_t asking;          // slot + 1 of the requesting process; 0: none
    _Atomic uint32_t asked, answered; // counters, for waiting
    uint32_t what, timeout_ms, result;
    uint32_t thread; // thread that executes the request
    int32_t pipe;    // descriptor of a pipe; the requesting process opens it in /proc
    int32_t places[SIM_MAX_DEVICES];
};
struct shared_request *shared_state_own_request(void);
// Returns the request of a living process, or NULL if it uses none of these devices.
struct shared_request *shared_state_request_of(uint32_t pid);
// Returns true if the process that PID named when the request was found is alive.
bool shared_state_is_alive(const struct shared_request *request, uint32_t pid);
// Claims the request for this process. Returns false if another process holds it.
bool shared_state_begin_asking(struct shared_request *request);
void shared_state_end_asking(struct shared_request *request);

// Returns the bytes that all living processes have taken on a device.
uint64_t shared_state_used(int ordinal);

// The use of a device by one process.
struct shared_use {
    uint32_t pid;
    uint64_t bytes;
    uint64_t busy; // nanoseconds in which its kernels ran
};

// Reads the file for a process that only observes; takes no slot. Returns the number of processes
// that hold memory of the device, and lists at most `most` of them.
size_t shared_state_look(const char *path, int ordinal, struct shared_use *list, size_t most);

// Returns nanoseconds of a clock that all processes share.
uint64_t shared_state_now(void);
// Bracket each kernel, on any thread. Several kernels may run at once.
void shared_state_kernel_begins(int ordinal);
void shared_state_kernel_ended(int ordinal);

// ---- memory that processes share, in the file ----

struct shared_span {
    uint64_t offset, size; // whole pages
    uint64_t secret;       // secret that a process must present to join
};

// Returns the descriptor of the file, for mapping spans.
int shared_state_file(void);
// Takes a new span of zeros for this process. Returns -ENOMEM.
int shared_state_take_span(size_t size, struct shared_span *span);
// Adds a use of the span by this process. Returns -ENOENT if no process uses it.
int shared_state_join_span(const struct shared_span *span);
// Drops a use. The span is free when no living process uses it.
void shared_state_leave_span(const struct shared_span *span);

// Gives the slot back at exit.
void shared_state_close(void);

#endif
