// SPDX-License-Identifier: BSD-3-Clause
// The broker's process: the real server, broker and store, which can die at any point of their code
// and start anew from the disk.
#ifndef RGPU_TEST_BROKER_PROCESS_H
#define RGPU_TEST_BROKER_PROCESS_H

#include "broker/api/http.h"
#include "tests/simulation/world.h"

extern struct host broker_host;

// The present process, or NULL while there is none.
struct server *broker_process(void);

void broker_process_set_up(uint64_t seed);
void broker_process_start(void *unused);
// Runs a function in the broker's process, which may die meanwhile.
void broker_process_call(world_event *function, void *argument);
// The broker's process dies here, in the middle of its code. POWER: its machine does.
void broker_process_die(const char *where) __attribute__((noreturn));
// From outside: the process is killed, or its machine loses power. It starts again after PAUSE.
void broker_process_kill(bool power, int64_t pause);
// Stops as by SIGTERM.
void broker_process_stop(void);
// True while the broker's machine is off, so that connections are not even refused.
bool broker_process_is_silent(void);

// The process dies when a point of the code with this number is reached (common/base/fault.h).
void broker_process_plan_death(unsigned points);
void broker_process_plan_failure(unsigned points, int error);
// Restores copy NUMBER of the database at the next start.
void broker_process_plan_restore(unsigned number);
extern unsigned broker_starts, broker_deaths, broker_restores;
// The database was restored since the last call.
bool broker_process_was_restored(void);
// Returns false from a restore until a box has shown it. A box that has lost its own last point by
// then cannot show it, and tickets of the lost part are valid there.
bool broker_process_knows_its_loss(void);

#endif
