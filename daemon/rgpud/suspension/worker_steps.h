// SPDX-License-Identifier: BSD-3-Clause
// The part of the workers in a suspension: they pause, restore the images that they made
// themselves, and go on.
#ifndef RGPU_DAEMON_WORKER_STEPS_H
#define RGPU_DAEMON_WORKER_STEPS_H

#include "daemon/rgpud/suspension/suspension.h"
#include "daemon/rgpud/workers/worker_process.h"

// Pauses the workers. Returns -ENOSPC with the reason in TEXT if the images do not fit in the host.
int suspension_pause(struct suspension *s, char *text, size_t room)
    __attribute__((warn_unused_result));
// Lets the workers continue as before. WHY is kept for reports.
void suspension_stay(struct suspension *s, const char *why);
// Ends the sessions, whose memory is lost.
void suspension_lose(struct suspension *s, const char *why);
// Lets the workers restore their images, and continue. The driver has restored the rest, or has not
// moved it because of WHY.
void suspension_restore(struct suspension *s, const char *why);
// Ends a suspension whose memory is on the GPUs again. If there is a reason why the sessions were
// not suspended, they are not suspended again.
void suspension_return(struct suspension *s);

// Handle the answers of a worker. Return 0, or -EPROTO for an answer that cannot be right.
int suspension_paused(struct worker_process *worker, const struct control_paused *paused);
int suspension_called(struct worker_process *worker, const struct control_called *called);

#endif
