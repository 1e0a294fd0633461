// SPDX-License-Identifier: BSD-3-Clause
// Value of LD_PRELOAD with which profilers see remote GPUs. Programs find CUPTI by a path (DT_RPATH
// in PyTorch's wheels) that takes precedence over LD_LIBRARY_PATH, but the loader uses a library of
// that name that is loaded already.
#ifndef RGPU_COMMON_PROFILER_PRELOAD_H
#define RGPU_COMMON_PROFILER_PRELOAD_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Writes the CUPTI libraries in DIRECTORY, followed by OLD (may be NULL), to VALUE. Returns false
// if they are missing, if CHOICE (the value of RGPU_PROFILER, or NULL) is "no", or if they do not
// fit in ROOM bytes.
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
