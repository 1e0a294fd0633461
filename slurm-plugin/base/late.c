// SPDX-License-Identifier: GPL-2.0-or-later
// Loading the half of a plugin that is beside it.
#include "slurm-plugin/base/late.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
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

// ---- the version of Slurm ----

// Slurm loads its plugin for authentication before all others. Its version is what Slurm has just
// checked.
static int read_version(struct dl_phdr_info *object, size_t size, void *version)
{
    const char *slash = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;
    const uint32_t *number;
    void *library;

    if (!slash || strncmp(slash, "/auth_", 6) != 0)
        return 0;
    library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return 0;
    number = dlsym(library, "plugin_version");
    if (number)
        *(uint32_t *)version = *number;
    dlclose(library);
    return number != NULL;
}

uint32_t running_version(void)
{
    uint32_t version = 0;

    dl_iterate_phdr(read_version, &version);
    return version;
}

static unsigned version_part(uint32_t version, unsigned shift)
{
    return version >> shift & 0xff;
}

void running_version_text(uint32_t built, uint32_t running, char text[VERSION_TEXT_MAX])
{
    snprintf(
        text, VERSION_TEXT_MAX,
        "it was built for Slurm %u.%02u.%u and this is %u.%02u.%u: no job gets remote GPUs, all "
        "others run (build it anew: make slurm-plugin SLURM_PREFIX=...)",
        version_part(built, 16), version_part(built, 8), version_part(built, 0),
        version_part(running, 16), version_part(running, 8), version_part(running, 0));
}
