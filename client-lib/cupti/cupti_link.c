// SPDX-License-Identifier: BSD-3-Clause
// See cupti_link.h.
#include "client-lib/cupti/cupti_link.h"
#include "version.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

// A worker recognizes by this name that it was given this library instead of CUPTI's own.
__attribute__((visibility("default"))) extern const char rgpu_cupti_marker[];
const char rgpu_cupti_marker[] = "rgpu stand-in for CUPTI " RGPU_VERSION;

static void *library;
static const struct profiler_table *table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void cupti_link_find(void)
{
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const struct profiler_table *found = library ? dlsym(library, "rgpu_profiler_table") : NULL;
    if (found && found->version == PROFILER_TABLE_VERSION)
        table = found;
}

const struct profiler_table *cupti_link(void)
{
    pthread_once(&once, cupti_link_find);
    return table;
}

void *cupti_driver_function(const char *name)
{
    return cupti_link() ? dlsym(library, name) : NULL;
}
