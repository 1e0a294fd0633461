// SPDX-License-Identifier: BSD-3-Clause
// The paths by which copies travel. Each copy has a usual path, which depends on its direction,
// size and link; the user or the administrator may force others.
#ifndef RGPU_COMMON_COPY_PATH_H
#define RGPU_COMMON_COPY_PATH_H

enum copy_path {
    PATH_INLINE,    // inside the request, or its reply
    PATH_STAGED,    // through blocks that both sides have
    PATH_MAPPED,    // the GPU reads and writes the program's memory
    PATH_ONE_SIDED, // the box's device reads and writes it, and the GPU the box's blocks
    PATH_DIRECT,    // the box's device reads and writes the program's memory and the GPU's
    // Between GPUs of two boxes, PATH_DIRECT uses blocks on neither side, and the following on one.
    PATH_DIRECT_SOURCE, // the device reads the source's memory into blocks
    PATH_DIRECT_TARGET, // it reads blocks, and writes the target's memory
    PATHS
};

#define PATH_BIT(path) (1u << (path))
// The end that does not move the bytes treats all of these as one-sided.
#define PATH_BY_DEVICE (PATH_BIT(PATH_ONE_SIDED) | PATH_BIT(PATH_DIRECT))

// The names of all paths, for help texts.
#define PATH_WORDS "inline, staged, mapped, one-sided, direct, direct-source, direct-target"

// Parses "auto", or names of paths with commas. Returns the PATH_BITs of the paths to use if they
// are available; 0: auto, -EINVAL.
int copy_path_parse(const char *text);

// Returns USUAL if it may be used, else the first path that may. USABLE: PATH_BITs, at least one.
// FORCED: PATH_BITs; those that are not usable do not count.
static inline enum copy_path copy_path_choose(unsigned usable, enum copy_path usual,
                                              unsigned forced)
{
    unsigned allowed = usable & forced ? usable & forced : usable;

    return allowed >> usual & 1 ? usual : (enum copy_path)__builtin_ctz(allowed);
}

#endif
