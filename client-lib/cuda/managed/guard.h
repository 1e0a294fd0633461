// SPDX-License-Identifier: BSD-3-Clause
// Protects the addresses of mirrors and reports the program's faults there. One implementation uses
// userfaultfd: threads that touch closed memory wait in the kernel, also inside system calls if
// this process has that permission. The other uses signals, which it shares with the program's
// handlers.
#ifndef RGPU_CLIENT_GUARD_H
#define RGPU_CLIENT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Callbacks of a guard's user. The guard calls them from a thread of its own; both may block.
struct guard_client {
    // Handles a fault at ADDRESS. Returns false if the thread must not continue.
    bool (*touch)(uint64_t address, bool write);
    // Does work ahead while no fault is pending. Returns true if more remains.
    bool (*ahead)(void);
};

struct guard {
    const char *name;
    bool (*start)(const struct guard_client *client);
    // Guards and closes the whole range, which is a shared mapping without access rights. Returns 0
    // or -errno.
    int (*add)(uint64_t address, size_t size);
    void (*remove)(uint64_t address, size_t size);
    // Opens the range for reading, or for reading and writing, and lets threads that wait there
    // continue. The backing memory must have all of its pages. Returns 1 if the range is writable
    // (even if only reading was requested), 0 if it is readable, -errno on failure. After a
    // failure, opening the whole added range may still succeed.
    int (*open)(uint64_t address, size_t size, bool write);
    // Makes a range that is open for reading writable. Returns as `open` does on failure.
    int (*allow)(uint64_t address, size_t size);
    void (*close)(uint64_t address, size_t size); // only whole ranges as added
    // Reinstalls signal handlers that the program may have replaced. Called before faults may
    // occur.
    void (*renew)(void);
};

extern const struct guard guard_userfaultfd, guard_signals;

#endif
