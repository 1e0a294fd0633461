// SPDX-License-Identifier: BSD-3-Clause
// Sizes and times as people write them: "512K", "4GiB", "20ms", "5s".
#ifndef RGPU_COMMON_UNITS_H
#define RGPU_COMMON_UNITS_H

#include <stdint.h>

// Bytes: plain or with K, M, G, T or KiB ... (powers of 1024). -EINVAL, -ERANGE.
int units_parse_size(const char *text, uint64_t *bytes) __attribute__((warn_unused_result));

// A time with us, ms, s, min, h or d; a plain number is seconds. -EINVAL, -ERANGE.
int units_parse_duration(const char *text, uint64_t *microseconds)
    __attribute__((warn_unused_result));

#endif
