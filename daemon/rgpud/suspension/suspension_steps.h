// SPDX-License-Identifier: BSD-3-Clause
// Steps of a suspension: the workers pause and move what they can to the host (worker_steps.h), the
// driver moves the rest where that is needed (driver_steps.h), and later all returns. If a step
// fails, the workers continue as before that step.
#ifndef RGPU_DAEMON_SUSPENSION_STEPS_H
#define RGPU_DAEMON_SUSPENSION_STEPS_H

#include "daemon/rgpud/suspension/suspension.h"

// Executes the next step if its time has come. May free the suspension.
void suspension_step(struct suspension *s);

#endif
