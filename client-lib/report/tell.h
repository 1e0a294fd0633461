// SPDX-License-Identifier: BSD-3-Clause
// What a user is told on standard error although no variable is set: why the program has no GPU (any
// more), and what can be done. RGPU_LOG=off silences it. Any thread may call.
#ifndef RGPU_CLIENT_TELL_H
#define RGPU_CLIENT_TELL_H

#include <stdatomic.h>

// One line, "rgpu: " before the text.
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The same the first time that it is reached, where it might be reached often.
#define tell_once(...) \
    do { \
        static atomic_flag told = ATOMIC_FLAG_INIT; \
        if (!atomic_flag_test_and_set(&told)) \
            tell(__VA_ARGS__); \
    } while (0)

#endif
