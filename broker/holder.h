// SPDX-License-Identifier: BSD-3-Clause
// Which broker has the state directory. A lock says so, and the file that is locked names the run: where
// locks fail (a storage that gave the lock to another host while this one was cut off from it), the
// broker that has lost its name there ends before it changes anything.
#ifndef RGPU_BROKER_HOLDER_H
#define RGPU_BROKER_HOLDER_H

#include <stdbool.h>

struct holder {
    int fd;         // -1: nothing is held
    bool took_over; // another one had it while we waited
    char path[4096], run[33];
};

// -EBUSY: another broker has it, and `wait` is not set. `tell` hears what the service manager should know
// meanwhile, in sd_notify's words.
int holder_take(const char *directory, bool wait, void (*tell)(const char *state),
                struct holder *holder) __attribute__((warn_unused_result));
// Writes the name of this run.
int holder_sign(struct holder *holder, const char *run) __attribute__((warn_unused_result));
// Ends the program where another run has signed. Nothing is checked without a holder.
void holder_check(const struct holder *holder);
void holder_release(struct holder *holder);

#endif
