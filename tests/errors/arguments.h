// SPDX-License-Identifier: BSD-3-Clause
// Valid arguments of each call, as far as their types and names show them, and the ways in which
// each can be wrong.
#ifndef RGPU_TESTS_ERRORS_ARGUMENTS_H
#define RGPU_TESTS_ERRORS_ARGUMENTS_H

#include <stdbool.h>

#include "tests/errors/call_table.h"

// Memory for what pointers lead to, before anything else here.
void arguments_prepare(void);
// Right arguments, in memory that has been cleared.
void arguments_right(const struct call *call, union argument *arguments);
// Makes argument INDEX wrong in the way number WAY and names it; false where there are no more
// ways. *APPLIES is false for a way that the fixture cannot give.
bool arguments_wrong(const struct call *call, unsigned index, unsigned way,
                     union argument *arguments, const char **name, bool *applies);

#endif
