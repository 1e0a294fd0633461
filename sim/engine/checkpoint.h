// SPDX-License-Identifier: BSD-3-Clause
// Implements checkpoints. Another process makes this process's calls wait, releases its device
// memory, and later restores it, perhaps on other devices. The contents stay in this process,
// because simulated memory lies in it; only the accounting changes.
#ifndef SIM_CHECKPOINT_H
#define SIM_CHECKPOINT_H

#include <stdbool.h>

// Starts the thread that executes requests of other processes. cuInit calls it once, when the
// shared state is open. Returns 0 or -errno.
int checkpoint_start(void);

// Waits while the process is locked. Every API call begins with it.
void checkpoint_pass(void);

// Bracket work from its submission to its end, on any threads. The first waits while the process is
// locked.
void checkpoint_work_begins(void);
void checkpoint_work_ended(void);

// Sets whether this thread runs work that a lock waits for; the functions above then never wait.
// Returns the previous value.
bool checkpoint_set_working(bool working);

#endif
