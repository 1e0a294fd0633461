// SPDX-License-Identifier: BSD-3-Clause
// One run of rgpu-suspender, which takes the memory of workers off the GPUs or puts it back.
#ifndef RGPU_DAEMON_SUSPENDER_H
#define RGPU_DAEMON_SUSPENDER_H

#include <sys/types.h>

#include "daemon/box.h"
#include "daemon/spawner_client.h"

// See suspender/main.c.
enum suspender_outcome {
    SUSPENDER_DONE,
    SUSPENDER_LATER,
    SUSPENDER_FAILED,
    SUSPENDER_LOST,
    SUSPENDER_UNKNOWN, // it ended before it said anything
};

// TEXT says why, empty where all is well. MOVED names the processes that are on other GPUs than before, with blanks.
typedef void suspender_ended(void *argument, enum suspender_outcome outcome, const char *text,
                             const char *moved);

struct suspender;

// Acts on the workers that were named by spawner_add_member() since the last start. TIMEOUT_MS is the time that their work
// on the GPU has to end before they are suspended. After LIMIT_MS the process is killed, as a driver that hangs, or a worker
// that is stopped, may never answer it. ENDED is called once, from the event loop. -errno: it does not start.
int suspender_start(struct box *box, enum spawner_act act, unsigned timeout_ms, int64_t limit_ms,
                    suspender_ended *ended, void *argument, struct suspender **out)
    __attribute__((warn_unused_result));
// Ends it; ENDED is not called.
void suspender_abandon(struct suspender **suspender);

#endif
