// SPDX-License-Identifier: BSD-3-Clause
// The way from the stand-in for CUPTI's library to libcuda.so.1 in the same process.
#ifndef RGPU_CUPTI_LINK_H
#define RGPU_CUPTI_LINK_H

#include "proto/cupti_abi.h"
#include "proto/profiler_table.h"

#define CUPTI_EXPORT(name, ...) \
    __attribute__((visibility("default"))) CUptiResult name(__VA_ARGS__); \
    __attribute__((visibility("default"))) CUptiResult name(__VA_ARGS__)

// rgpu's libcuda.so.1, which is loaded where it is not yet; NULL: the process has another one.
const struct profiler_table *cupti_link(void);
// A function of it; NULL: it has none of that name.
void *cupti_driver_function(const char *name);

#endif
