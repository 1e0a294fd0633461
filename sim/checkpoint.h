// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints: another process has this one's calls wait, gives its memory of the devices to others and brings it
// back, perhaps on other devices. What was in the memory stays in this process all the while, as the simulated memory
// lies in it anyway; what comes and goes is the account.
#ifndef SIM_CHECKPOINT_H
#define SIM_CHECKPOINT_H

#include <stdbool.h>

// Starts the thread that acts on what others ask. -errno. Once, by cuInit, when the state is there.
int checkpoint_start(void);

// Where calls begin: waits while the process is locked.
void checkpoint_pass(void);

// Around work from its submission to its end, by whatever threads; the first waits while the process is locked.
void checkpoint_work_begins(void);
void checkpoint_work_ended(void);

// Whether this thread carries out work, which a lock waits for: then nothing above makes it wait. Returns what was
// so before.
bool checkpoint_set_working(bool working);

#endif
