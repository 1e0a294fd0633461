// SPDX-License-Identifier: BSD-3-Clause
// Limits log lines that a peer can cause at any rate. Lines beyond the limit are only counted; the
// next line that is written states their number.
//
//     static struct log_limit refused = LOG_LIMIT(5, 60);
//     log_limited(&refused, LOG_LEVEL_WARN, "client refused: peer=%s", peer);
#ifndef RGPU_COMMON_LOG_LIMIT_H
#define RGPU_COMMON_LOG_LIMIT_H

#include <stdint.h>

#include "common/base/log.h"

// Thread-safe if it is static, since threads may use it until the process ends.
struct log_limit {
    uint32_t burst, seconds; // maximum number of lines, and the period in seconds
    uint32_t written;        // lines in this period
    uint64_t left_out;
    int64_t since; // begin of the period, monotonic seconds
};

#define LOG_LIMIT(burst_, seconds_) \
    { \
        .burst = (burst_), .seconds = (seconds_) \
    }

// Returns true if a line may be written. *LEFT_OUT is the number of suppressed lines before it.
bool log_limit_take(struct log_limit *limit, uint64_t *left_out);

#define log_limited(limit, level, format, ...) \
    do { \
        uint64_t left_out_; \
        if ((level) <= log_threshold && log_limit_take((limit), &left_out_)) { \
            if (left_out_) \
                log_write((level), format " left_out=%llu", __VA_ARGS__, \
                          (unsigned long long)left_out_); \
            else \
                log_write((level), format, __VA_ARGS__); \
        } \
    } while (0)

#endif
