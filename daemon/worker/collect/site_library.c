// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/collect/site_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "daemon/worker/core/setup.h"

struct site_library site;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int version;

// The administrator's words, in the environment of rgpud, come first.
static void set_defaults(void)
{
    // All connections are made at the beginning, so that no collective waits for another box.
    setenv("NCCL_RUNTIME_CONNECT", "0", 0);
    // Workers are different users, who do not open each other's files.
    setenv("NCCL_SHM_DISABLE", "1", 0);
}

static bool take_site_calls(void *library)
{
    const char *missing = NULL;
#define TAKE(name) \
    site.name = (__typeof__(site.name))dlsym(library, #name); \
    if (!site.name) \
        missing = #name;
    SITE_CALLS(TAKE)
#undef TAKE
    if (missing)
        log_warn("nccl=%s is no NCCL, missing=%s", command.nccl, missing);
    return !missing;
}

static void site_library_open_library(void)
{
    if (!setup_has_nccl())
        return;
    set_defaults();
    void *library = dlopen(command.nccl, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        log_warn("nccl=%s does not load error=\"%s\"", command.nccl, dlerror());
        return;
    }
    if (!take_site_calls(library) || site.ncclGetVersion(&version))
        version = 0;
    else
        log_info("nccl loaded name=%s version=%d", command.nccl, version);
}

unsigned site_library_open(void)
{
    pthread_once(&once, site_library_open_library);
    return (unsigned)version;
}

const char *site_problem(ncclResult_t result)
{
    const char *last = site.ncclGetLastError(NULL);
    return last && *last ? last : site.ncclGetErrorString(result);
}
