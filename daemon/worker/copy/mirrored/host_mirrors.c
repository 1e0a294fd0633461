// SPDX-License-Identifier: BSD-3-Clause
// Pages of the worker at the client's addresses, mapped for the GPU, and a copy of what the client
// knows of them. Requests exchange changes with the processor, so that they wait for no stream and
// no kernel that reads the memory. These requests are urgent: before a host function runs, for
// which streams wait, it reads the changes, and before it ends, it sends its own.
#include "daemon/worker/copy/mirrored/host_mirrors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/byte_changes.h"
#include "common/base/scope.h"
#include "proto/wire.h"
#include "daemon/worker/account/allocation.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/copy/mapped/client_memory.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

// Bytes that one request compares at most, so that other requests are not kept waiting.
enum { LOOK_MAX = 16 * 1024 * 1024 };

struct host_mirror {
    uint8_t *base, *known;
    uint64_t size;
    CUcontext context; // in which it is registered
};
static struct host_mirror *mirrors[WIRE_REGION_LIMIT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void host_mirrors_unmap(struct host_mirror *mirror)
{
    if (mirror->base)
        munmap(mirror->base, mirror->size);
    if (mirror->known)
        munmap(mirror->known, mirror->size);
    free(mirror);
}

static struct host_mirror *host_mirrors_make(struct serve *serve,
                                             const struct args_host_mirror *args)
{
    struct host_mirror *mirror = calloc(1, sizeof(*mirror));
    if (!mirror) {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        return NULL;
    }
    mirror->size = args->size;
    mirror->context = serve->current;
    serve_fail(serve, host_memory_map(-1, 0, args->address, args->size, &mirror->base));
    void *known = serve_failed(serve) ? MAP_FAILED
                                      : mmap(NULL, args->size, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (known != MAP_FAILED)
        mirror->known = known;
    else
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    if (!serve_failed(serve))
        return mirror;
    host_mirrors_unmap(mirror);
    return NULL;
}

void serve_host_mirror(struct serve *serve, const struct args_host_mirror *args,
                       struct reply_host_mirror *reply)
{
    CUdeviceptr device = 0;
    if (!host_memory_sensible(args->address, args->size, args->region)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    struct host_mirror *mirror = host_mirrors_make(serve, args);
    if (!mirror)
        return;
    serve_fail(serve, host_memory_register(mirror->base, mirror->size, &device));
    SCOPED_LOCK(&lock);
    if (!serve_failed(serve) && !mirrors[args->region]) {
        mirrors[args->region] = mirror;
        reply->device_address = device;
        return;
    }
    if (!serve_failed(serve)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        allocation_remove((uint64_t)(uintptr_t)mirror->base);
        driver.cuMemHostUnregister(mirror->base);
    }
    host_mirrors_unmap(mirror);
}

// Under lock. Requests no longer find the mirror.
static struct host_mirror *host_mirrors_take(uint32_t region)
{
    struct host_mirror *mirror = mirrors[region];
    mirrors[region] = NULL;
    return mirror;
}

// In the mirror's context, or while that is about to go. The driver may wait here for a function of
// the client, which reads and writes other mirrors first: the lock is free.
static void host_mirrors_end(struct host_mirror *mirror)
{
    allocation_remove((uint64_t)(uintptr_t)mirror->base);
    atomic_fetch_add(&session.memory_epoch, 1);
    driver.cuMemHostUnregister(mirror->base);
    host_mirrors_unmap(mirror);
}

// The one of that number where it has SIZE bytes from AT on, under lock; else a failure is noted.
static struct host_mirror *host_mirrors_find(struct serve *serve, uint32_t region, uint64_t at,
                                             uint64_t size)
{
    struct host_mirror *mirror = region < WIRE_REGION_LIMIT ? mirrors[region] : NULL;
    if (mirror && at <= mirror->size && size <= mirror->size - at)
        return mirror;
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return NULL;
}

void serve_host_mirror_end(struct serve *serve, const struct args_host_mirror_end *args)
{
    struct host_mirror *mirror = NULL;
    {
        SCOPED_LOCK(&lock);
        if (host_mirrors_find(serve, args->region, 0, 0))
            mirror = host_mirrors_take(args->region);
    }
    if (mirror)
        host_mirrors_end(mirror);
}

void serve_host_mirror_write(struct serve *serve, const struct args_host_mirror_write *args)
{
    SCOPED_LOCK(&lock);
    struct host_mirror *mirror = host_mirrors_find(serve, args->region, args->at, 0);
    if (mirror && !byte_changes_apply(args + 1, args->bytes, mirror->base + args->at,
                                      mirror->known + args->at, mirror->size - args->at))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
}

void serve_host_mirror_read(struct serve *serve, const struct args_host_mirror_read *args,
                            struct reply_host_mirror_read *reply)
{
    size_t room = serve_reply_room(serve, args->reply_room), done = 0;
    SCOPED_LOCK(&lock);
    struct host_mirror *mirror = host_mirrors_find(serve, args->region, args->at, args->size);
    if (!mirror)
        return;
    size_t size = args->size < LOOK_MAX ? args->size : LOOK_MAX;
    size_t used = byte_changes_pack(mirror->base + args->at, mirror->known + args->at, size, &done,
                                    serve->bytes, room);
    reply->done = done;
    serve_reply_bytes(serve, serve->bytes, used);
}

// Adds the changes of a part to the reply, of which USED bytes are filled. Returns how many are
// filled then; USED if there is no room left.
static size_t host_mirrors_add_changes(struct serve *serve, const struct wire_mirror_part *part,
                                       size_t most, size_t used, size_t room)
{
    struct wire_mirror_changes head = {0};
    struct host_mirror *mirror = host_mirrors_find(serve, part->region, part->at, part->size);
    if (!mirror || room - used < sizeof(head) + 16)
        return used;
    uint8_t *to = (uint8_t *)serve->bytes + used;
    size_t left = (room - used - sizeof(head)) & ~(size_t)7, done = 0;
    head.bytes = (uint32_t)byte_changes_pack(mirror->base + part->at, mirror->known + part->at,
                                             part->size < most ? part->size : most, &done,
                                             to + sizeof(head), left);
    head.done = done;
    memcpy(to, &head, sizeof(head));
    return used + sizeof(head) + ((head.bytes + 7) & ~(size_t)7);
}

void serve_host_mirrors_read(struct serve *serve, const struct args_host_mirrors_read *args)
{
    struct wire_mirror_part part;
    size_t room = serve_reply_room(serve, args->reply_room), used = 0, looked = 0;
    size_t count = args->bytes / sizeof(part);
    if (args->bytes % sizeof(part) || count > WIRE_MIRROR_PARTS_MAX)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < count && looked < LOOK_MAX && !serve_failed(serve); i++) {
        memcpy(&part, (const uint8_t *)(args + 1) + i * sizeof(part), sizeof(part));
        size_t before = used;
        used = host_mirrors_add_changes(serve, &part, LOOK_MAX - looked, used, room);
        looked += part.size < LOOK_MAX - looked ? part.size : LOOK_MAX - looked;
        if (used == before)
            break;
    }
    if (!serve_failed(serve))
        serve_reply_bytes(serve, serve->bytes, used);
}

// Takes the next mirror of CONTEXT, from *REGION on; NULL: there is none left.
static struct host_mirror *host_mirrors_take_next(CUcontext context, uint32_t *region)
{
    SCOPED_LOCK(&lock);
    for (; *region < WIRE_REGION_LIMIT; (*region)++)
        if (mirrors[*region] && mirrors[*region]->context == context)
            return host_mirrors_take(*region);
    return NULL;
}

static void host_mirrors_forget_context(CUcontext context)
{
    uint32_t region = 0;
    for (struct host_mirror *mirror; (mirror = host_mirrors_take_next(context, &region)) != NULL;)
        host_mirrors_end(mirror);
}

void host_mirrors_prepare(void)
{
    context_watch(host_mirrors_forget_context);
}
