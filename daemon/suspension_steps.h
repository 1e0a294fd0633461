// SPDX-License-Identifier: BSD-3-Clause
// A suspension takes three steps: the workers are asked to come to a rest, rgpu-suspender takes their memory off the
// GPUs, and the same brings it back. Whatever does not work leaves them as they were before.
#ifndef RGPU_DAEMON_SUSPENSION_STEPS_H
#define RGPU_DAEMON_SUSPENSION_STEPS_H

#include "daemon/suspension.h"

// The first step of one whose sessions run. -ENOSPC with the reason in TEXT: the images find no room.
int suspension_pause(struct suspension *s, char *text, size_t room)
    __attribute__((warn_unused_result));
// Takes the step that is due, if one is. It releases what is over.
void suspension_step(struct suspension *s);

// What workers say. -EPROTO.
int suspension_paused(struct worker_process *worker, const struct control_paused *paused);
int suspension_called(struct worker_process *worker, const struct control_called *called);

#endif
