// SPDX-License-Identifier: BSD-3-Clause
// The value of LD_PRELOAD by which profilers see remote GPUs. Programs find CUPTI's library by a path of their own
// (PyTorch's wheels by DT_RPATH), which comes before LD_LIBRARY_PATH, but one of that name that is loaded already is taken. It has
// no dependencies and costs a process nothing that can be measured.
#ifndef RGPU_COMMON_PROFILER_PRELOAD_H
#define RGPU_COMMON_PROFILER_PRELOAD_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Puts the stand-ins in DIRECTORY in front of OLD (NULL or empty: nothing) into VALUE. False: they are not there, or
// not to be used, as CHOICE (the value of RGPU_PROFILER, or NULL) is "no", or there is no room.
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
