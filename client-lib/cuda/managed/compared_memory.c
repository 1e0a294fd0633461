// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/compared_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "client-lib/cuda/managed/host_changes.h"
#include "client-lib/cuda/report/tell.h"
#include "common/base/scope.h"

struct compared {
    struct allocation memory;
    uint8_t *known; // the bytes that the box has
    bool worked;    // work was sent since this was added
    struct compared *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct compared *list;
static _Atomic unsigned int count;

static void compared_memory_drop(struct compared **at)
{
    struct compared *gone = *at;
    *at = gone->next;
    atomic_fetch_sub(&count, 1);
    munmap(gone->known, gone->memory.size);
    free(gone);
}

CUresult compared_add(const struct allocation *memory)
{
    struct compared *made = calloc(1, sizeof(*made));
    void *known = mmap(NULL, memory->size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!made || known == MAP_FAILED) {
        if (known != MAP_FAILED)
            munmap(known, memory->size);
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->memory = *memory;
    made->known = known;
    SCOPED_LOCK(&lock);
    made->next = list;
    list = made;
    atomic_fetch_add(&count, 1);
    return CUDA_SUCCESS;
}

void compared_remove(uint64_t base)
{
    SCOPED_LOCK(&lock);
    for (struct compared **at = &list; *at; at = &(*at)->next) {
        if ((*at)->memory.base == base) {
            compared_memory_drop(at);
            return;
        }
    }
}

void compared_context_gone(uint64_t context)
{
    SCOPED_LOCK(&lock);
    for (struct compared **at = &list; *at;) {
        if ((*at)->memory.context == context)
            compared_memory_drop(at);
        else
            at = &(*at)->next;
    }
}

static struct host_part compared_memory_part_of(const struct compared *one)
{
    return (struct host_part){one->memory.session, one->memory.region, one->memory.region_offset};
}

CUresult compared_send(struct box_session *session, bool work)
{
    CUresult result = CUDA_SUCCESS;
    if (!atomic_load_explicit(&count, memory_order_relaxed))
        return CUDA_SUCCESS;
    SCOPED_LOCK(&lock);
    for (struct compared *one = list; one; one = one->next) {
        if (one->memory.session != session)
            continue;
        const struct host_part part = compared_memory_part_of(one);
        CUresult sent = host_changes_send(&part, (const uint8_t *)(uintptr_t)one->memory.base,
                                          one->known, one->memory.size);
        result = result == CUDA_SUCCESS ? sent : result;
        one->worked = one->worked || work;
    }
    return result;
}

void compared_fetch(struct box_session *session)
{
    if (!atomic_load_explicit(&count, memory_order_relaxed))
        return;
    SCOPED_LOCK(&lock);
    for (struct compared *one = list; one; one = one->next) {
        const struct host_part part = compared_memory_part_of(one);
        if (one->memory.session != session || !one->worked ||
            (one->memory.host_flags & CU_MEMHOSTREGISTER_READ_ONLY))
            continue;
        CUresult result = host_changes_fetch(&part, (uint8_t *)(uintptr_t)one->memory.base,
                                             one->known, one->memory.size);
        if (result != CUDA_SUCCESS)
            tell_once("what a GPU wrote to registered memory cannot be fetched (error %d)",
                      (int)result);
    }
}
