// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/nccl/loaded_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct loaded_calls loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char why[400];

static void *loaded_calls_find(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found && !*why)
        snprintf(why, sizeof(why), "there is no %s: %s", name, library ? dlerror() : "");
    return found;
}

static void *loaded_calls_open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library && !*why)
        snprintf(why, sizeof(why), "%s", dlerror());
    return library;
}

// librgpu.so.1 is in the directory above this library's, or in the usual search path.
static void *open_team_library(void)
{
    Dl_info own;
    char path[4096];
    if (!dladdr(&loaded, &own))
        return loaded_calls_open_library("librgpu.so.1");
    snprintf(path, sizeof(path), "%s", own.dli_fname);
    char *name = strrchr(path, '/');
    size_t room = name ? sizeof(path) - (size_t)(name - path) : 0;
    if (!name || (size_t)snprintf(name, room, "/../librgpu.so.1") >= room)
        return loaded_calls_open_library("librgpu.so.1");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? library : loaded_calls_open_library("librgpu.so.1");
}

static void loaded_calls_open_all(void)
{
    void *driver = loaded_calls_open_library("libcuda.so.1"),
         *team = driver ? open_team_library() : NULL;
#define FIND_DRIVER(name, parameters) \
    loaded.name = (__typeof__(loaded.name))loaded_calls_find(driver, #name);
#define FIND_TEAM(name, type, parameters) \
    loaded.name = (__typeof__(loaded.name))loaded_calls_find(team, #name);
    NCCL_DRIVER_CALLS(FIND_DRIVER)
    NCCL_TEAM_CALLS(FIND_TEAM)
    if (driver)
        loaded.site = dlsym(driver, "rgpu_site_nccl_table");
}

const char *loaded_open(void)
{
    pthread_once(&once, loaded_calls_open_all);
    return *why ? why : NULL;
}
