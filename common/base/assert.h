// SPDX-License-Identifier: BSD-3-Clause
// Asserts internal invariants: state transitions, accounts, order of lists. Never for input, which
// is rejected with an error.
#ifndef RGPU_COMMON_ASSERT_H
#define RGPU_COMMON_ASSERT_H

// Logs a false CONDITION with file and line. In builds with ASSERT=1 (CI) it also aborts the
// process.
#define RGPU_ASSERT(condition) \
    (__builtin_expect(!!(condition), 1) ? (void)0 : assert_broken(#condition, __FILE__, __LINE__))

void assert_broken(const char *condition, const char *file, int line)
    __attribute__((cold, noinline));

#endif
