// SPDX-License-Identifier: BSD-3-Clause
// Runs rgpu-suspender once. It moves the memory of workers off the GPUs or back.
#ifndef RGPU_DAEMON_SUSPENDER_H
#define RGPU_DAEMON_SUSPENDER_H

#include <sys/types.h>

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/box/spawner_client.h"

// See daemon/suspender/main.c for the meanings.
enum suspender_outcome {
    SUSPENDER_DONE,
    SUSPENDER_LATER,
    SUSPENDER_FAILED,
    SUSPENDER_LOST,
    SUSPENDER_UNKNOWN, // it ended without an answer
};

// TEXT is the reason, or empty on success. MOVED lists the processes that moved to other GPUs,
// separated by spaces.
typedef void suspender_ended(void *argument, enum suspender_outcome outcome, const char *text,
                             const char *moved);

struct suspender;

// Acts on the workers that spawner_add_member() has named since the last start. TIMEOUT_MS is the
// time that their GPU work may take to finish before a suspension. After LIMIT_MS the process is
// killed, since a hanging driver or a stopped worker may block it forever. The event loop calls
// ENDED once. Returns -errno if the process does not start.
int suspender_start(struct box *box, enum spawner_act act, unsigned timeout_ms, int64_t limit_ms,
                    suspender_ended *ended, void *argument, struct suspender **out)
    __attribute__((warn_unused_result));
// Kills the process. ENDED is not called.
void suspender_abandon(struct suspender **suspender);

#endif
