// SPDX-License-Identifier: BSD-3-Clause
// Connects the replacement of CUPTI's library to libcuda.so.1 in the same process.
#ifndef RGPU_CUPTI_LINK_H
#define RGPU_CUPTI_LINK_H

#include "proto/cupti_abi.h"
#include "proto/profiler_table.h"

#define CUPTI_EXPORT(name, ...) \
    __attribute__((visibility("default"))) CUptiResult name(__VA_ARGS__); \
    __attribute__((visibility("default"))) CUptiResult name(__VA_ARGS__)

// Returns the table of rgpu's libcuda.so.1, and loads that library if necessary. Returns NULL if
// the process uses another driver.
const struct profiler_table *cupti_link(void);
// Returns a function of that library; NULL if it has no such function.
void *cupti_driver_function(const char *name);

#endif
