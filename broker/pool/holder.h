// SPDX-License-Identifier: BSD-3-Clause
// Ensures that one broker at a time uses the state directory. The broker locks a file there and
// writes its run into it. Locks can fail: a storage may give the lock to another host while this
// one is cut off. Therefore a broker that no longer finds its own run in the file ends before it
// changes anything.
#ifndef RGPU_BROKER_HOLDER_H
#define RGPU_BROKER_HOLDER_H

#include <stdbool.h>

struct holder {
    int fd;         // -1: not locked
    bool took_over; // another broker held it when this one began to wait
    char path[4096], run[33];
};

// Locks the directory. -EBUSY: another broker holds it, and `wait` is not set. While it waits, it
// calls `tell` with states for the service manager, in sd_notify's format.
int holder_take(const char *directory, bool wait, void (*tell)(const char *state),
                struct holder *holder) __attribute__((warn_unused_result));
// Writes this run into the file.
int holder_sign(struct holder *holder, const char *run) __attribute__((warn_unused_result));
// Ends the program if the file names another run. Does nothing if HOLDER is NULL.
void holder_check(const struct holder *holder);
void holder_release(struct holder *holder);

#endif
