// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/memory/between_memory.h"

#include <pthread.h>
#include <stdlib.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/work/captures.h"
#include "client-lib/cuda/memory/device_memory.h"
#include "client-lib/cuda/objects/thread.h"
#include "common/base/scope.h"

// The buffer of a stream. It is used in the order of the stream, which needs neither a wait nor an
// event. Memory that is allocated and freed in stream order would not do: the box places the data
// of a copy when they arrive, which may be after the call that frees the memory, and then the
// driver rejects its address.
struct between_memory {
    uint64_t context;
    CUstream stream;
    CUdeviceptr address;   // 0: none
    uint64_t id;           // of the allocation, which may have gone with its context
    pthread_mutex_t taken; // held by the copying thread
    struct between_memory *next;
};

static struct between_memory *pieces;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool between_memory_is_there(const struct between_memory *piece)
{
    struct allocation found;
    return piece->address && memory_find(piece->address, &found) && found.base == piece->address &&
           found.id == piece->id;
}

static bool stream_is_gone(const struct between_memory *piece)
{
    return (uintptr_t)piece->stream > (uintptr_t)CU_STREAM_PER_THREAD &&
           !object_find(HANDLE_STREAM, piece->stream);
}

// The caller holds the lock. Freeing waits for the earlier work of the stream.
static void free_those_of_ended_streams(void)
{
    for (struct between_memory *piece = pieces; piece; piece = piece->next)
        if (piece->address && stream_is_gone(piece) && !pthread_mutex_trylock(&piece->taken)) {
            if (between_memory_is_there(piece))
                device_memory_free(piece->address);
            piece->address = 0;
            piece->stream = NULL;
            piece->context = 0;
            pthread_mutex_unlock(&piece->taken);
        }
}

// The caller holds the lock. Returns NULL if memory has run out.
static struct between_memory *between_memory_find(uint64_t context, CUstream stream)
{
    struct between_memory *unused = NULL;
    for (struct between_memory *piece = pieces; piece; piece = piece->next) {
        if (piece->context == context && piece->stream == stream)
            return piece;
        if (!piece->context)
            unused = piece;
    }
    if (!unused) {
        unused = calloc(1, sizeof(*unused));
        if (!unused)
            return NULL;
        pthread_mutex_init(&unused->taken, NULL);
        unused->next = pieces;
        pieces = unused;
    }
    unused->context = context;
    unused->stream = stream;
    return unused;
}

// An allocation could invalidate captures, so there is none while streams are captured.
static bool between_memory_allocate(struct between_memory *piece)
{
    struct allocation found;
    if (captures_any() ||
        device_memory_allocate(&piece->address, BETWEEN_MEMORY_SIZE) != CUDA_SUCCESS) {
        piece->address = 0;
        return false;
    }
    piece->id = memory_find(piece->address, &found) ? found.id : 0;
    return true;
}

struct between_memory *between_memory_take(CUstream stream)
{
    struct object *context;
    if (thread_context_object(&context) != CUDA_SUCCESS)
        return NULL;
    pthread_mutex_lock(&lock);
    free_those_of_ended_streams();
    struct between_memory *piece = between_memory_find(context->handle, stream);
    pthread_mutex_unlock(&lock);
    if (!piece)
        return NULL;
    pthread_mutex_lock(&piece->taken);
    if (between_memory_is_there(piece) || between_memory_allocate(piece))
        return piece;
    pthread_mutex_unlock(&piece->taken);
    return NULL;
}

void between_memory_give(struct between_memory *between)
{
    pthread_mutex_unlock(&between->taken);
}

CUdeviceptr between_memory_address(const struct between_memory *between)
{
    return between->address;
}
