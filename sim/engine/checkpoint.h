// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints (cuCheckpointProcess*). Another process locks this one, so that its calls wait;
// releases its device memory; and later restores it, perhaps on other devices. Simulated device
// memory is memory of the process, so its content stays and only the accounts change.
#ifndef SIM_CHECKPOINT_H
#define SIM_CHECKPOINT_H

#include <stdbool.h>

// Starts the thread that executes requests of other processes. Must be called once, by cuInit,
// after shared_state_open. Returns 0 or -errno.
int checkpoint_start(void);

// Waits while the process is locked. Every API call calls it first.
void checkpoint_pass(void);

// Mark begin and end of work on the GPU. A lock waits for begun work. checkpoint_work_begins waits
// while the process is locked.
void checkpoint_work_begins(void);
void checkpoint_work_ended(void);

// Sets whether the calling thread executes such work. Its calls of these functions then never wait.
// Returns the previous value.
bool checkpoint_set_working(bool working);

#endif
