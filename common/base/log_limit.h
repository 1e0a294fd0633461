// SPDX-License-Identifier: BSD-3-Clause
// Log lines that a peer can cause as often as it likes: some of them are written, the others only
// counted. The next line that is written says how many were left out.
//
//     static struct log_limit refused = LOG_LIMIT(5, 60);
//     log_limited(&refused, LOG_LEVEL_WARN, "client refused: peer=%s", peer);
#ifndef RGPU_COMMON_LOG_LIMIT_H
#define RGPU_COMMON_LOG_LIMIT_H

#include <stdint.h>

#include "common/base/log.h"

// Any thread may use one. It lives as long as the program, or is used by one thread only.
struct log_limit {
    uint32_t burst, seconds; // that many lines in that time
    uint32_t written;        // in this stretch of time
    uint64_t left_out;
    int64_t since; // monotonic seconds when the stretch began
};

#define LOG_LIMIT(burst_, seconds_) \
    { \
        .burst = (burst_), .seconds = (seconds_) \
    }

// Returns true if a line may be written, and the number of lines left out before it.
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
