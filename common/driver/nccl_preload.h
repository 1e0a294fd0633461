// SPDX-License-Identifier: BSD-3-Clause
// The value of LD_PRELOAD that makes programs with GPUs of several boxes load rgpu's libnccl.so.2.
// Programs find NCCL by a path of their own, which comes before LD_LIBRARY_PATH, but a library of
// that name that is loaded already is taken. It needs no other library, and costs a process without
// collectives nothing that can be measured.
#ifndef RGPU_COMMON_NCCL_PRELOAD_H
#define RGPU_COMMON_NCCL_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// The values of RGPU_NCCL: ours, the site's own, or ours if there are several boxes (also the
// default).
static inline bool nccl_choice_is_known(const char *choice)
{
    return !choice || !*choice || !strcmp(choice, "auto") || !strcmp(choice, "own") ||
           !strcmp(choice, "site");
}

// Puts ours, in DIRECTORY, in front of OLD (NULL or empty: nothing) into VALUE. False: it is not
// there, or not to be used, or there is no room.
static inline bool nccl_preload(const char *directory, const char *old, const char *choice,
                                size_t boxes, char *value, size_t room)
{
    int length = snprintf(value, room, "%s/nccl/libnccl.so.2", directory);
    bool own = choice && !strcmp(choice, "own"), site = choice && !strcmp(choice, "site");
    if (length < 0 || (size_t)length >= room || access(value, R_OK) || site || (boxes < 2 && !own))
        return false;
    length = snprintf(value, room, "%s/nccl/libnccl.so.2%s%s", directory, old && *old ? ":" : "",
                      old ? old : "");
    return length > 0 && (size_t)length < room;
}

#endif
