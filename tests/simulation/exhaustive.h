// SPDX-License-Identifier: BSD-3-Clause
// Exhaustive faults: at each kind of request to the broker and of message to a box, the world is
// forked once for each allocation, read, write, sync, point and answer that follows, which then
// fails. Each of these worlds must keep all promises.
#ifndef RGPU_TEST_EXHAUSTIVE_H
#define RGPU_TEST_EXHAUSTIVE_H

#include "tests/simulation/world.h"

// From now on each kind is tried at its first occurrence, its SPACING-th, and so on. STEP: 1 tries
// every operation; a larger one leaves out some, the more the later they are.
void exhaustive_begin(unsigned spacing, unsigned step);
// The code of HOST begins to handle a message. TEXT: body in JSON, or NULL. Members that are not
// empty are a part of the kind.
void exhaustive_point(struct host *host, const char *method, const char *target, const char *text);
// Returns the end of the world, which is nearer for one in which a fault has struck.
int64_t exhaustive_end(int64_t end);
// From now on no message is tried.
void exhaustive_finish(void);
// Returns true in a world that was forked.
bool exhaustive_is_trial(void);
// Return true if this allocation, point, answer or write of a box's file is the one that fails.
bool exhaustive_memory_fails(void);
bool exhaustive_fault_point_fails(void);
bool exhaustive_answer_fails(void);
bool exhaustive_file_fails(void);
// While held, allocations do not count: the simulator stands in for code that is not tested here.
void exhaustive_hold(bool hold);
// Prints the number of kinds and of trials. Returns true if no trial broke a promise.
bool exhaustive_report(void);

#endif
