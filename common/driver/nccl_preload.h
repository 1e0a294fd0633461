// SPDX-License-Identifier: BSD-3-Clause
// Value of LD_PRELOAD that makes programs use rgpu's libnccl.so.2 where NVIDIA's cannot work: its
// kernels wait for words in the memory of the host that the program runs on.
// Programs find NCCL by a path that takes precedence over LD_LIBRARY_PATH, but the loader uses a
// library of that name that is loaded already.
#ifndef RGPU_COMMON_NCCL_PRELOAD_H
#define RGPU_COMMON_NCCL_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Values of RGPU_NCCL: "own" (rgpu's), "site" (the site's), "auto" (default; rgpu's where the GPUs
// are APART: endpoint_boxes_share_memory() says no).
static inline bool nccl_choice_is_known(const char *choice)
{
    return !choice || !*choice || !strcmp(choice, "auto") || !strcmp(choice, "own") ||
           !strcmp(choice, "site");
}

// Writes the library in DIRECTORY, followed by OLD (may be NULL), to VALUE. Returns false if the
// library is missing, should not be used, or does not fit in ROOM bytes.
static inline bool nccl_preload(const char *directory, const char *old, const char *choice,
                                bool apart, char *value, size_t room)
{
    int length = snprintf(value, room, "%s/nccl/libnccl.so.2", directory);
    bool own = choice && !strcmp(choice, "own"), site = choice && !strcmp(choice, "site");
    if (length < 0 || (size_t)length >= room || access(value, R_OK) || site || (!apart && !own))
        return false;
    length = snprintf(value, room, "%s/nccl/libnccl.so.2%s%s", directory, old && *old ? ":" : "",
                      old ? old : "");
    return length > 0 && (size_t)length < room;
}

#endif
