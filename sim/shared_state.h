// SPDX-License-Identifier: BSD-3-Clause
// How much memory of each simulated device is taken, and how long its kernels have run, over all processes of
// the machine: a small file in shared memory with one slot per process. A slot whose process is gone does not count.
#ifndef SIM_SHARED_STATE_H
#define SIM_SHARED_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/sim_config.h"

// Opens or creates the file and takes a slot. -errno; logs why. Called once, by cuInit.
int shared_state_open(const char *path);

// Takes `bytes` of a device whose size is `total`: -ENOMEM when less than that is free.
int shared_state_charge(int ordinal, uint64_t bytes, uint64_t total);
void shared_state_release(int ordinal, uint64_t bytes);

// While a process is checkpointed nothing of what it has taken counts. To be called by its checkpoint thread alone.
void shared_state_put_aside(void);
// Takes all of it again, each device's share at the device whose number PLACES has for it, and goes on there.
// -ENOMEM when that has not the room.
int shared_state_take_back(const int places[SIM_MAX_DEVICES],
                           const uint64_t totals[SIM_MAX_DEVICES]);

// The device of the machine that one of this process is at the moment.
int shared_state_place(int ordinal);

// What other processes ask of this one, and this one's answer: in its slot, for sim/checkpoint.c alone.
struct shared_request {
    _Atomic uint32_t state;           // CUprocessState
    _Atomic uint32_t asking;          // slot + 1 of who asks at the moment; 0: nobody
    _Atomic uint32_t asked, answered; // numbers, to wait for
    uint32_t what, timeout_ms, result;
    uint32_t thread; // that acts on it
    int32_t places[SIM_MAX_DEVICES];
};
struct shared_request *shared_state_own_request(void);
// That of a living process; NULL: it uses none of these devices.
struct shared_request *shared_state_request_of(uint32_t pid);
// Whether the process is, that PID was at that time.
bool shared_state_is_alive(const struct shared_request *request, uint32_t pid);
// Makes the process the one who asks; false: another one does.
bool shared_state_begin_asking(struct shared_request *request);
void shared_state_end_asking(struct shared_request *request);

// Bytes taken on a device by all living processes.
uint64_t shared_state_used(int ordinal);

// The use that one process makes of a device.
struct shared_use {
    uint32_t pid;
    uint64_t bytes;
    uint64_t busy; // nanoseconds in which it has run kernels
};

// For a process that only looks: uses nothing and takes no slot, however often it looks. The number of
// processes that hold memory of the device, of which `most` are listed.
size_t shared_state_look(const char *path, int ordinal, struct shared_use *list, size_t most);

// Nanoseconds, by the clock of all processes.
uint64_t shared_state_now(void);
// Around each kernel, by any thread; several may run at once.
void shared_state_kernel_begins(int ordinal);
void shared_state_kernel_ended(int ordinal);

// ---- memory that processes share, in the file ----

struct shared_span {
    uint64_t offset, size; // whole pages
    uint64_t secret;       // who knows it may join
};

// The file's descriptor, to map spans of.
int shared_state_file(void);
// A fresh span, all zeros, that this process uses: -ENOMEM.
int shared_state_take_span(size_t size, struct shared_span *span);
// This process uses it as well; -ENOENT: nobody does.
int shared_state_join_span(const struct shared_span *span);
// One use less. It is free when no living process uses it.
void shared_state_leave_span(const struct shared_span *span);

// Gives the slot back; at exit.
void shared_state_close(void);

#endif
