// SPDX-License-Identifier: BSD-3-Clause
// Accounts of all simulated devices, for all processes of the machine: allocated memory and run
// time of kernels. They are in a file that all processes map, with a slot for each process. Slots
// of dead processes are ignored.
#ifndef SIM_SHARED_STATE_H
#define SIM_SHARED_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/sim_config.h"

// Opens or creates the file and takes a slot. Must be called once, by cuInit. Returns 0, or -errno
// and logs the error.
int shared_state_open(const char *path);

// Adds BYTES to this process's account of a device that has TOTAL bytes. Returns -ENOMEM if too few
// are free.
int shared_state_charge(int ordinal, uint64_t bytes, uint64_t total);
void shared_state_release(int ordinal, uint64_t bytes);

// Removes this process's memory from the accounts, for a checkpoint. Only for the checkpoint
// thread.
void shared_state_put_aside(void);
// Adds the memory to the accounts again: that of device i to device PLACES[i]. Returns -ENOMEM if
// one of them has too few free bytes.
int shared_state_take_back(const int places[SIM_MAX_DEVICES],
                           const uint64_t totals[SIM_MAX_DEVICES]);

// Returns the device whose account a device of this process uses.
int shared_state_place(int ordinal);

// Request of another process to this one, and the result, in this process's slot. For checkpoint.c.
struct shared_request {
    _Atomic uint32_t state;           // CUprocessState
    _Atomic uint32_t asking;          // slot + 1 of the requesting process; 0: none
    _Atomic uint32_t asked, answered; // request counters, used as futexes
    uint32_t what, timeout_ms, result;
    uint32_t thread; // thread that executes the request
    int32_t pipe;    // file descriptor of a pipe, which the requesting process opens through /proc
    int32_t places[SIM_MAX_DEVICES];
};
struct shared_request *shared_state_own_request(void);
// Returns the request slot of a living process, or NULL if the process uses none of these devices.
struct shared_request *shared_state_request_of(uint32_t pid);
// Returns true if the process is alive that had this slot and PID.
bool shared_state_is_alive(const struct shared_request *request, uint32_t pid);
// Takes the right to make a request. Returns false if another process has it.
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

// Reads the file without taking a slot. Lists at most MOST processes with memory of the device, and
// returns their number.
size_t shared_state_look(const char *path, int ordinal, struct shared_use *list, size_t most);

// Returns nanoseconds of a clock that all processes share.
uint64_t shared_state_now(void);
// Mark begin and end of a kernel. Thread-safe; kernels may overlap.
void shared_state_kernel_begins(int ordinal);
void shared_state_kernel_ended(int ordinal);

// ---- spans: memory in the file that processes share ----

struct shared_span {
    uint64_t offset, size; // multiples of the page size
    uint64_t secret;       // must be known to join
};

// Returns the descriptor of the file, for mapping spans.
int shared_state_file(void);
// Allocates a span of zeros. Returns -ENOMEM.
int shared_state_take_span(size_t size, struct shared_span *span);
// Adds this process to the users of the span. Returns -ENOENT if it has none.
int shared_state_join_span(const struct shared_span *span);
// Removes this process from the users. A span without living users is free.
void shared_state_leave_span(const struct shared_span *span);

// Gives the slot back at exit.
void shared_state_close(void);

#endif
