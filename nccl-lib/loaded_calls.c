// SPDX-License-Identifier: BSD-3-Clause
#include "nccl-lib/loaded_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct loaded_calls loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char why[400];

static void *find(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found && !*why)
        snprintf(why, sizeof(why), "there is no %s: %s", name, library ? dlerror() : "");
    return found;
}

static void *open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library && !*why)
        snprintf(why, sizeof(why), "%s", dlerror());
    return library;
}

// librgpu.so.1 lies in the directory above this library's, or wherever libraries are.
static void *open_team_library(void)
{
    Dl_info own;
    char path[4096];
    if (!dladdr(&loaded, &own))
        return open_library("librgpu.so.1");
    snprintf(path, sizeof(path), "%s", own.dli_fname);
    char *name = strrchr(path, '/');
    size_t room = name ? sizeof(path) - (size_t)(name - path) : 0;
    if (!name || (size_t)snprintf(name, room, "/../librgpu.so.1") >= room)
        return open_library("librgpu.so.1");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? library : open_library("librgpu.so.1");
}

static void open_all(void)
{
    void *driver = open_library("libcuda.so.1"), *team = driver ? open_team_library() : NULL;
#define FIND_DRIVER(name, parameters) loaded.name = (__typeof__(loaded.name))find(driver, #name);
#define FIND_TEAM(name, type, parameters) loaded.name = (__typeof__(loaded.name))find(team, #name);
    NCCL_DRIVER_CALLS(FIND_DRIVER)
    NCCL_TEAM_CALLS(FIND_TEAM)
    if (driver)
        loaded.site = dlsym(driver, "rgpu_site_nccl_table");
}

const char *loaded_open(void)
{
    pthread_once(&once, open_all);
    return *why ? why : NULL;
}
