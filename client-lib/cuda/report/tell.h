// SPDX-License-Identifier: BSD-3-Clause
// Messages to the user on standard error: why the program has no GPU, and how to fix that. They
// appear without any setting; RGPU_LOG=off silences them. Any thread may call.
#ifndef RGPU_CLIENT_TELL_H
#define RGPU_CLIENT_TELL_H

#include <stdatomic.h>

// Writes one line, with "rgpu: " before the text.
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The same, but only when this line of code runs for the first time.
#define tell_once(...) \
    do { \
        static atomic_flag reported = ATOMIC_FLAG_INIT; \
        if (!atomic_flag_test_and_set(&reported)) \
            tell(__VA_ARGS__); \
    } while (0)

#endif
