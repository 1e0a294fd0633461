// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_TEST_MINIMIZE_H
#define RGPU_TEST_MINIMIZE_H

#include "tests/simulation/faults.h"

// Leaves out kinds of faults, and single ones, as long as BREAKS says that the seed still breaks.
void minimize(struct fault_filter *without,
              bool (*breaks)(void *argument, const struct fault_filter *without), void *argument);
// Prints a filter as options of the command.
void minimize_print(const struct fault_filter *without);
// Reads "name,name" or "1,2-5". Returns false if it cannot be read.
bool minimize_read(const char *text, struct fault_filter *without);

#endif
