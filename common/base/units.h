// SPDX-License-Identifier: BSD-3-Clause
// Parses sizes and durations such as "512K", "4GiB", "20ms", "5s".
#ifndef RGPU_COMMON_UNITS_H
#define RGPU_COMMON_UNITS_H

#include <stdint.h>

// Parses bytes: a number, or with K, M, G, T or KiB, MiB, ... (powers of 1024). Returns 0, -EINVAL
// or -ERANGE.
int units_parse_size(const char *text, uint64_t *bytes) __attribute__((warn_unused_result));

// Parses a duration with us, ms, s, min, h or d; a plain number is seconds. Returns 0, -EINVAL or
// -ERANGE.
int units_parse_duration(const char *text, uint64_t *microseconds)
    __attribute__((warn_unused_result));

#endif
