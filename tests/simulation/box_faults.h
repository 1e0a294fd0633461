// SPDX-License-Identifier: BSD-3-Clause
// Faults that a box survives.
#ifndef RGPU_TEST_BOX_FAULTS_H
#define RGPU_TEST_BOX_FAULTS_H

#include "tests/simulation/simulated_box.h"

// One of its GPUs has a fault, which the broker is to drain.
void box_break_gpu(struct simulated_box *box, struct dice *dice);
// One of its sessions fails.
void box_break_session(struct simulated_box *box);
// An administrator of the box has it take no sessions, or take them again.
void box_take_sessions(struct simulated_box *box, bool takes);
// All faults of the box are over.
void box_mend(struct simulated_box *box);

#endif
