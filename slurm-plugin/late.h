/*
 * Plugins of two halves: one that every daemon of Slurm can load, since it needs nothing, and beside
 * it one that is loaded where it has work to do. A plugin that cannot be loaded ends slurmd and
 * slurmctld, and with them the work of everybody who never asked for remote GPUs.
 */
#ifndef RGPU_SLURM_LATE_H
#define RGPU_SLURM_LATE_H

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The library `name` in the directory of the plugin that `inside` is in; NULL: *why says why not. */
static inline void *late_load(const void *inside, const char *name, const char **why)
{
    char path[PATH_MAX];
    const char *slash;
    void *library;
    Dl_info self;

    *why = "its own place cannot be found";
    if (!dladdr(inside, &self) || !(slash = strrchr(self.dli_fname, '/')))
        return NULL;
    snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname, name);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *why = library ? NULL : dlerror();
    return library;
}

#endif
