// SPDX-License-Identifier: BSD-3-Clause
// A guard protects the addresses of mirrors and reports the program's page faults there. Open
// memory is accessible, closed memory is not. One implementation uses userfaultfd: threads that
// access closed memory wait in the kernel, also inside system calls if this process has that
// permission. The other uses SIGSEGV, and passes other faults on to the program's handlers.
#ifndef RGPU_CLIENT_GUARD_H
#define RGPU_CLIENT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Callbacks of a guard's user. The guard calls them from its own thread; both may block.
struct guard_client {
    // Handles a fault at ADDRESS. Returns false if the faulting thread must not continue.
    bool (*touch)(uint64_t address, bool write);
    // Prefetches while no fault is pending. Returns true if the guard should call again.
    bool (*ahead)(void);
};

struct guard {
    const char *name; // for messages
    // Starts the guard, once in this process. CLIENT must stay valid. Returns false if the guard
    // cannot work here.
    bool (*start)(const struct guard_client *client);
    // Guards and closes the whole range, which is a shared mapping without access rights. Returns 0
    // or -errno.
    int (*add)(uint64_t address, size_t size);
    // Stops guarding a range as added.
    void (*remove)(uint64_t address, size_t size);
    // Opens the range for reading, or with WRITE for reading and writing, and wakes threads that
    // wait there. All pages of the memory must be allocated. Returns 1 if the range is writable
    // (even without WRITE), 0 if it is readable only, -errno on failure. After a failure, opening
    // the whole added range may still succeed.
    int (*open)(uint64_t address, size_t size, bool write);
    // Makes a range writable that is open for reading. Fails as `open` does.
    int (*allow)(uint64_t address, size_t size);
    void (*close)(uint64_t address, size_t size); // only whole ranges as added
    // Reinstalls signal handlers that the program may have replaced. Called before faults may
    // occur.
    void (*renew)(void);
};

extern const struct guard guard_userfaultfd, guard_signals;

#endif
