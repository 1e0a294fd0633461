// SPDX-License-Identifier: BSD-3-Clause
// Steps of a suspension: the workers pause, rgpu-suspender moves their memory to the host, and
// later back. If a step fails, the workers continue as before that step.
#ifndef RGPU_DAEMON_SUSPENSION_STEPS_H
#define RGPU_DAEMON_SUSPENSION_STEPS_H

#include "daemon/rgpud/suspension/suspension.h"

// Begins the first step. Returns 0, or -ENOSPC and the reason in TEXT without memory for the
// images.
int suspension_pause(struct suspension *s, char *text, size_t room)
    __attribute__((warn_unused_result));
// Executes the next step if its time has come. May free the suspension.
void suspension_step(struct suspension *s);

// Handle messages from workers. Return 0 or -EPROTO.
int suspension_paused(struct worker_process *worker, const struct control_paused *paused);
int suspension_called(struct worker_process *worker, const struct control_called *called);

#endif
