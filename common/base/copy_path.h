// SPDX-License-Identifier: BSD-3-Clause
// Paths on which copies travel between a program and a GPU. The usual path depends on direction,
// size and transport; users and administrators may force others.
#ifndef RGPU_COMMON_COPY_PATH_H
#define RGPU_COMMON_COPY_PATH_H

enum copy_path {
    PATH_INLINE, // data in the request or reply
    PATH_STAGED, // staging blocks on both sides
    PATH_MAPPED, // the GPU accesses the program's memory
    // the box's network device accesses the program's memory; staging blocks in the box
    PATH_ONE_SIDED,
    PATH_DIRECT, // the box's network device accesses the program's memory and the GPU's
    // Between GPUs of two boxes, PATH_DIRECT uses no blocks, and these two use blocks on one side.
    PATH_DIRECT_SOURCE, // the device reads the source's memory; blocks on the target's side
    PATH_DIRECT_TARGET, // blocks on the source's side; the device writes the target's memory
    PATHS
};

#define PATH_BIT(path) (1u << (path))
// The side that does not move the data treats these paths alike.
#define PATH_BY_DEVICE (PATH_BIT(PATH_ONE_SIDED) | PATH_BIT(PATH_DIRECT))

// The names of all paths, for help texts.
#define PATH_WORDS "inline, staged, mapped, one-sided, direct, direct-source, direct-target"

// Parses "auto" or names of paths, separated by commas. Returns their PATH_BITs, 0 for "auto", or
// -EINVAL.
int copy_path_parse(const char *text);

// Returns USUAL if it is allowed, else the first allowed path. Allowed are the FORCED paths that
// are also USABLE or, if there are none, all USABLE ones (PATH_BITs, at least one).
static inline enum copy_path copy_path_choose(unsigned usable, enum copy_path usual,
                                              unsigned forced)
{
    unsigned allowed = usable & forced ? usable & forced : usable;

    return allowed >> usual & 1 ? usual : (enum copy_path)__builtin_ctz(allowed);
}

#endif
