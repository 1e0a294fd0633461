// SPDX-License-Identifier: BSD-3-Clause
#include "transport/rdma/rdma_verbs.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

struct rdma_verbs verbs;

static int loaded = -ENOENT;
static char problem[160];

static void *rdma_verbs_find(void *library, const char *name, const char *file)
{
    void *function = library ? dlsym(library, name) : NULL;

    if (!function && !problem[0])
        snprintf(problem, sizeof(problem), "%s has no %s", file, name);
    return function;
}

static void load(void)
{
    static const char cm_name[] = "librdmacm.so.1", ibv_name[] = "libibverbs.so.1";
    void *cm, *ibv;

    // Never closed, because the libraries' threads and handlers would remain.
    ibv = dlopen(ibv_name, RTLD_NOW | RTLD_LOCAL);
    cm = ibv ? dlopen(cm_name, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!cm) {
        const char *text = dlerror();
        snprintf(problem, sizeof(problem), "%s", text ? text : ibv_name);
        return;
    }
#define RDMA_FIND(name) verbs.name = (__typeof__(verbs.name))rdma_verbs_find(cm, #name, cm_name);
    RDMA_CM_FUNCTIONS(RDMA_FIND)
#undef RDMA_FIND
#define RDMA_FIND(name) verbs.name = (__typeof__(verbs.name))rdma_verbs_find(ibv, #name, ibv_name);
    RDMA_IBV_FUNCTIONS(RDMA_FIND)
#undef RDMA_FIND
    if (problem[0])
        return;
    // Before anything is registered, so that a program may fork.
    int error = verbs.ibv_fork_init();
    if (error)
        snprintf(problem, sizeof(problem), "memory for RDMA cannot be kept from forked children");
    loaded = error ? -error : 0;
}

int rdma_verbs_load(char *text, size_t room)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    if (loaded)
        snprintf(text, room, "%s", problem);
    return loaded;
}
