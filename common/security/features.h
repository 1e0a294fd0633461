// SPDX-License-Identifier: BSD-3-Clause
// Features of the kernel that old kernels and containers lack. docs/reference/systems.md has the
// same table.
#ifndef RGPU_COMMON_FEATURES_H
#define RGPU_COMMON_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

enum feature_user { FEATURE_OF_BOXES, FEATURE_OF_CLIENTS };

struct feature {
    const char *name;
    const char *since; // the first Linux that has it
    enum feature_user user;
    bool required;
    const char *cost; // what is lost without it
    bool (*present)(void);
};

extern const struct feature features[];
extern const size_t feature_count;

// Logs a warning for each missing feature of a user, with what it costs, and an error if it is
// required. Returns 0, or -ENOSYS if a required one is missing.
int features_report(enum feature_user user) __attribute__((warn_unused_result));

#endif
