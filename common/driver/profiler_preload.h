// SPDX-License-Identifier: BSD-3-Clause
// Makes the value of LD_PRELOAD that lets profilers see remote GPUs. Programs find CUPTI's library
// by a path of their own (PyTorch's wheels by DT_RPATH), which precedes LD_LIBRARY_PATH, but they
// use a library of that name that is loaded already. It has no dependencies and costs a process
// nothing measurable.
#ifndef RGPU_COMMON_PROFILER_PRELOAD_H
#define RGPU_COMMON_PROFILER_PRELOAD_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Puts the stand-ins of DIRECTORY before OLD (NULL or empty: nothing) into VALUE. Returns false if
// they are missing, if CHOICE (the value of RGPU_PROFILER, or NULL) is "no", or without room.
static inline bool profiler_preload(const char *directory, const char *old, const char *choice,
                                    char *value, size_t room)
{
    int length = snprintf(value, room, "%s/libcupti.so.13", directory);
    if (length < 0 || (size_t)length >= room || access(value, R_OK) ||
        (choice && !strcmp(choice, "no")))
        return false;
    length = snprintf(value, room, "%s/libcupti.so.13:%s/libcupti.so.12%s%s", directory, directory,
                      old && *old ? ":" : "", old ? old : "");
    return length > 0 && (size_t)length < room;
}

#endif
