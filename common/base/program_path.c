// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/program_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int program_path_find(const char *const *candidates, char *path, size_t size)
{
    char directory[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", directory, sizeof(directory) - 1);

    if (n < 0)
        return -errno;
    directory[n] = '\0';
    *strrchr(directory, '/') = '\0';
    path[0] = '\0';
    for (; *candidates; candidates++) {
        if ((size_t)snprintf(path, size, "%s/%s", directory, *candidates) >= size)
            return -ENAMETOOLONG;
        if (!access(path, R_OK))
            return 0;
    }
    return -ENOENT;
}
