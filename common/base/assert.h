// SPDX-License-Identifier: BSD-3-Clause
// Checks invariants of this program's own: transitions of states, accounts, the order of lists. Not
// for input of others, which is refused with an error.
#ifndef RGPU_COMMON_ASSERT_H
#define RGPU_COMMON_ASSERT_H

// A false CONDITION is logged with its place. In builds with ASSERT=1 (CI) it ends the process.
#define RGPU_ASSERT(condition) \
    (__builtin_expect(!!(condition), 1) ? (void)0 : assert_broken(#condition, __FILE__, __LINE__))

void assert_broken(const char *condition, const char *file, int line)
    __attribute__((cold, noinline));

#endif
