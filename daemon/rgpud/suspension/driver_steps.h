// SPDX-License-Identifier: BSD-3-Clause
// The part of the driver in a suspension: through rgpu-suspender it moves what the workers have not
// moved themselves.
#ifndef RGPU_DAEMON_DRIVER_STEPS_H
#define RGPU_DAEMON_DRIVER_STEPS_H

#include "daemon/rgpud/suspension/suspension.h"

enum { SUSPENSION_RETRY_MS = 1000 };

enum driver_step {
    DRIVER_SUSPENDS, // then the lease is away, or runs on
    DRIVER_DEEPENS,  // after a light suspension; then nothing of the lease is on the GPUs
    DRIVER_RESUMES,  // then the workers restore their images
    DRIVER_SETTLES,  // finds out whether the lease is away
};
// Starts a step, whose result changes the state of the suspension. Returns 0 or -errno.
int driver_step(struct suspension *s, enum driver_step step) __attribute__((warn_unused_result));

// Returns how long the GPU may take to become idle.
unsigned suspension_timeout_ms(const struct suspension *s);
// Returns the longest time that a copy of the memory may take.
int64_t suspension_transfer_ms(const struct suspension *s);

#endif
