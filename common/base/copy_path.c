// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/copy_path.h"

#include <errno.h>
#include <string.h>

static const char *const names[PATHS] = {[PATH_INLINE] = "inline",
                                         [PATH_STAGED] = "staged",
                                         [PATH_MAPPED] = "mapped",
                                         [PATH_ONE_SIDED] = "one-sided",
                                         [PATH_DIRECT] = "direct",
                                         [PATH_DIRECT_SOURCE] = "direct-source",
                                         [PATH_DIRECT_TARGET] = "direct-target"};

static int copy_path_of(const char *word, size_t length)
{
    for (int path = 0; path < PATHS; path++)
        if (strlen(names[path]) == length && !memcmp(names[path], word, length))
            return path;
    return -EINVAL;
}

int copy_path_parse(const char *text)
{
    int paths = 0;

    if (!strcmp(text, "auto"))
        return 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        int path = copy_path_of(text, length);
        if (path < 0)
            return path;
        paths |= (int)PATH_BIT(path);
        if (!text[length])
            return paths;
        text += length + 1;
        text += strspn(text, " ");
    }
}
