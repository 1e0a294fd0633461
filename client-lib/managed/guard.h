// SPDX-License-Identifier: BSD-3-Clause
// What the program may do at addresses of mirrors, and who hears of it when it does something else. There are two
// ways: userfaultfd, where threads that touch closed memory wait in the kernel, and system calls do as well where
// this process may have that; else signals, which are shared with the program's own handlers.
#ifndef RGPU_CLIENT_GUARD_H
#define RGPU_CLIENT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a guard asks of who uses it, in a thread of its own. Both may block.
struct guard_client {
    // The program touches ADDRESS. False: it may not go on.
    bool (*touch)(uint64_t address, bool write);
    // Called while there is no fault. True: there is more to do.
    bool (*ahead)(void);
};

struct guard {
    const char *name;
    bool (*start)(const struct guard_client *client);
    // All of the range, a shared mapping without rights, is guarded and closed from now on. -errno.
    int (*add)(uint64_t address, size_t size);
    void (*remove)(uint64_t address, size_t size);
    // Opens the range for reading, or for both; threads that wait there go on. The file behind it has all of its
    // pages. 1: it may now be written, which may be more than was asked for; 0: it may be read; -errno, and the same
    // for the whole of what was added may still succeed.
    int (*open)(uint64_t address, size_t size, bool write);
    // What has been opened for reading may be written, too. -errno as above.
    int (*allow)(uint64_t address, size_t size);
    void (*close)(uint64_t address, size_t size); // of the whole of what was added
    // Called now and then, where a fault may follow: handlers of signals may have been replaced.
    void (*renew)(void);
};

extern const struct guard guard_userfaultfd, guard_signals;

#endif
