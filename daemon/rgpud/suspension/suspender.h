// SPDX-License-Identifier: BSD-3-Clause
// Runs rgpu-suspender, which moves the device memory of workers to host memory or back.
#ifndef RGPU_DAEMON_SUSPENDER_H
#define RGPU_DAEMON_SUSPENDER_H

#include <sys/types.h>

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/box/spawner_client.h"

// See daemon/suspender/main.c.
enum suspender_outcome {
    SUSPENDER_DONE,
    SUSPENDER_LATER,
    SUSPENDER_FAILED,
    SUSPENDER_LOST,
    SUSPENDER_UNKNOWN, // rgpu-suspender has exited without an answer
};

// TEXT: the reason of a failure, or "". MOVED: process ids that are on other GPUs now, separated by
// spaces.
typedef void suspender_ended(void *argument, enum suspender_outcome outcome, const char *text,
                             const char *moved);

struct suspender;

// Starts rgpu-suspender for the workers of spawner_add_member() since the last start. TIMEOUT_MS:
// limit for their running GPU work, for a suspension. LIMIT_MS: the process is killed after this
// time, because the driver or a stopped worker may block it forever. The event loop calls ENDED
// once. Returns 0, or -errno if the process does not start.
int suspender_start(struct box *box, enum spawner_act act, unsigned timeout_ms, int64_t limit_ms,
                    suspender_ended *ended, void *argument, struct suspender **out)
    __attribute__((warn_unused_result));
// Kills the process; ENDED is not called.
void suspender_abandon(struct suspender **suspender);

#endif
