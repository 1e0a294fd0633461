// SPDX-License-Identifier: BSD-3-Clause
// Ensures that only one broker uses a state directory. The broker locks a file there and writes the
// id of its run into the file. A lock alone is not enough: a network storage may give it to another
// host while this host is disconnected. A broker that reads another run's id in the file therefore
// exits before it changes anything.
#ifndef RGPU_BROKER_HOLDER_H
#define RGPU_BROKER_HOLDER_H

#include <stdbool.h>

struct holder {
    int fd;         // the locked file, or -1
    bool took_over; // another broker held the lock when this one began to wait
    char path[4096], run[33];
};

// Locks the directory, and waits for the lock if WAIT is set. While it waits, it calls TELL with
// states for the service manager (sd_notify's format). Returns -EBUSY if another broker holds the
// lock and WAIT is not set.
int holder_take(const char *directory, bool wait, void (*tell)(const char *state),
                struct holder *holder) __attribute__((warn_unused_result));
// Writes the id of this run into the file. Returns 0 or -errno.
int holder_sign(struct holder *holder, const char *run) __attribute__((warn_unused_result));
// Exits the process if the file contains the id of another run. HOLDER may be NULL in tests.
void holder_check(const struct holder *holder);
void holder_release(struct holder *holder);

#endif
