// SPDX-License-Identifier: BSD-3-Clause
// Carries out a suspension in three steps. The workers pause, rgpu-suspender moves their memory off
// the GPUs, and later moves it back. If a step fails, the workers continue as before the step.
#ifndef RGPU_DAEMON_SUSPENSION_STEPS_H
#define RGPU_DAEMON_SUSPENSION_STEPS_H

#include "daemon/rgpud/suspension/suspension.h"

// Begins the first step for sessions that run. Returns -ENOSPC with the reason in TEXT if the
// images do not fit.
int suspension_pause(struct suspension *s, char *text, size_t room)
    __attribute__((warn_unused_result));
// Performs the next step if it is due. May free the suspension.
void suspension_step(struct suspension *s);

// Handle messages from workers. Return 0 or -EPROTO.
int suspension_paused(struct worker_process *worker, const struct control_paused *paused);
int suspension_called(struct worker_process *worker, const struct control_called *called);

#endif
