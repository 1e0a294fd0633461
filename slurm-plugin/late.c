// SPDX-License-Identifier: GPL-2.0-or-later
// Loading the half of a plugin that is beside it.
#include "slurm-plugin/late.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

const char *late_load(struct late_half *half)
{
    char path[PATH_MAX];
    const char *slash;
    Dl_info self;

    if (!dladdr(half, &self) || !(slash = strrchr(self.dli_fname, '/')))
        return "its own place cannot be found";
    snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname,
             half->file);
    half->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!half->library)
        return dlerror();
    for (size_t i = 0; half->functions[i].name; i++) {
        void *function = dlsym(half->library, half->functions[i].name);
        if (!function) {
            late_unload(half);
            return "it is of another version";
        }
        *(void **)half->functions[i].pointer = function;
    }
    return NULL;
}

const char *late_begin(struct late_half *half)
{
    const char *why = late_load(half);
    int (*begin)(void);

    if (why)
        return why;
    begin = (int (*)(void))dlsym(half->library, "init");
    if (begin && begin() == 0)
        return NULL;
    late_unload(half);
    return begin ? "it cannot begin: the log says why" : "it is of another version";
}

void late_unload(struct late_half *half)
{
    if (half->library)
        dlclose(half->library);
    half->library = NULL;
    for (size_t i = 0; half->functions[i].name; i++)
        *(void **)half->functions[i].pointer = NULL;
}
