// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/mirror_chunks.h"

#include <stdint.h>
#include <stdlib.h>

#include "client-lib/cuda/managed/host_changes.h"
#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/copy/flags.h"
#include "client_calls.h"
#include "common/base/resident.h"
#include "client-lib/cuda/objects/thread.h"
#include "proto/cuda_abi.h"

// ---- streams of the library ----

// One in each context that has managed memory, so that transfers do not wait for the program's
// work.
struct private_stream {
    uint64_t context;
    CUstream stream;
    struct private_stream *next;
};

static struct private_stream *streams;

static struct private_stream *private_stream_find(uint64_t context)
{
    struct private_stream *found = streams;
    while (found && found->context != context)
        found = found->next;
    if (!found && (found = calloc(1, sizeof(*found)))) {
        found->context = context;
        found->next = streams;
        streams = found;
    }
    return found;
}

// Makes CONTEXT (a handle) current, and creates its private stream on first use. The caller does
// not destroy *STREAM. After success the caller calls private_stream_leave, which restores the old
// context. Only one thread at a time may call.
static CUresult private_stream_enter(uint64_t context, CUstream *stream)
{
    CUresult result = thread_push_context((CUcontext)(uintptr_t)context);
    if (result != CUDA_SUCCESS)
        return result;
    struct private_stream *mine = private_stream_find(context);
    if (!mine)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    // destroyed with its context
    else if (!mine->stream || !object_find(HANDLE_STREAM, mine->stream))
        result = remote_cuStreamCreate(&mine->stream, CU_STREAM_NON_BLOCKING);
    if (result == CUDA_SUCCESS)
        *stream = mine->stream;
    else
        thread_pop_context(NULL);
    return result;
}

static void private_stream_leave(void)
{
    thread_pop_context(NULL);
}

// ---- chunks ----

static __thread bool mine;
static struct mirror *sent_last; // a mirror whose stream still has to be awaited

bool mirror_moves_mine(void)
{
    return mine;
}

uint64_t mirror_address(const struct mirror *mirror, size_t chunk)
{
    return mirror->place.base + chunk * MIRROR_CHUNK;
}

size_t mirror_bytes(const struct mirror *mirror, size_t first, size_t count)
{
    size_t end = (first + count) * MIRROR_CHUNK;
    return (end < mirror->place.size ? end : mirror->place.size) - first * MIRROR_CHUNK;
}

bool mirror_needs(const struct mirror *mirror, size_t chunk, bool write)
{
    uint8_t state = mirror->chunks[chunk];
    return state == CHUNK_FRESH || state == CHUNK_AWAY || (write && state == CHUNK_SHARED);
}

static CUresult mirror_chunks_enter(const struct mirror *mirror, CUstream *stream)
{
    mine = true;
    CUresult result = private_stream_enter(mirror->place.context, stream);
    mine = result == CUDA_SUCCESS;
    return result;
}

static void mirror_chunks_leave(void)
{
    private_stream_leave();
    mine = false;
}

CUresult mirror_moves_end(void)
{
    CUstream stream;
    struct mirror *mirror = sent_last;
    if (!mirror)
        return CUDA_SUCCESS;
    sent_last = NULL;
    CUresult result = mirror_chunks_enter(mirror, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = copy_fence(mirror->place.session, stream);
    mirror_chunks_leave();
    return result;
}

// Returns how many of the COUNT chunks from FIRST on have the same state as the first.
static size_t alike(const struct mirror *mirror, size_t first, size_t count)
{
    size_t length = 1;
    while (length < count && mirror->chunks[first + length] == mirror->chunks[first])
        length++;
    return length;
}

// Returns how many bytes at or after *ADDRESS and before END can be moved, and moves *ADDRESS to
// their start.
static uint64_t movable(const struct mirror *mirror, uint64_t *address, uint64_t end)
{
    if (!mirror->place.in_parts)
        return end - *address;
    const struct range *part = ranges_at_or_after(&mirror->parts, *address);
    if (!part || part->base >= end)
        return 0;
    if (*address < part->base)
        *address = part->base;
    uint64_t until = part->base + part->size;
    return (until < end ? until : end) - *address;
}

// Passes arrived parts of the library view to the opener.
struct arrival_at {
    struct mirror *mirror;
    const struct mirror_opener *opener;
};

static void part_arrived(void *argument, const void *part, size_t size)
{
    const struct arrival_at *at = argument;
    size_t offset = (size_t)((const uint8_t *)part - at->mirror->library_view);
    at->opener->open(at->opener->argument, at->mirror->place.base + offset, size, CHUNK_AWAY);
}

static uint8_t *back_of(const struct mirror *mirror, uint64_t address)
{
    return mirror->library_view + (address - mirror->place.base);
}

// Fetches the whole range, or the parts that exist.
static CUresult mirror_chunks_fetch(struct mirror *mirror, size_t first, size_t count,
                                    CUstream stream, const struct mirror_opener *opener)
{
    uint64_t at = mirror_address(mirror, first), end = at + mirror_bytes(mirror, first, count),
             size;
    struct box_session *session = mirror->place.session;
    CUresult result = CUDA_SUCCESS;
    if (opener && !mirror->place.in_parts) {
        struct arrival_at arrival = {mirror, opener};
        struct copy_progress progress = {part_arrived, &arrival};
        return copy_device_to_host_in_parts(session, back_of(mirror, at), at, end - at, stream,
                                            &progress);
    }
    for (; result == CUDA_SUCCESS && (size = movable(mirror, &at, end)) != 0; at += size)
        result = copy_device_to_host(session, back_of(mirror, at), at, size, stream, true);
    return result;
}

static CUresult mirror_chunks_send(struct mirror *mirror, size_t first, size_t count,
                                   CUstream stream)
{
    uint64_t at = mirror_address(mirror, first), end = at + mirror_bytes(mirror, first, count),
             size;
    CUresult result = CUDA_SUCCESS;
    for (; result == CUDA_SUCCESS && (size = movable(mirror, &at, end)) != 0; at += size)
        result = copy_host_to_device(mirror->place.session, at, back_of(mirror, at), size, stream,
                                     false);
    return result;
}

// Allocates all pages of the library view there; new ones are zeros.
static void make_pages(struct mirror *mirror, size_t first, size_t count)
{
    volatile uint8_t *at = mirror->library_view + first * MIRROR_CHUNK;
    size_t size = mirror_bytes(mirror, first, count);
    if (memory_enter_pages((void *)at, size, true))
        return;
    for (size_t i = 0; i < size; i += MIRROR_PAGE)
        at[i] = at[i];
}

// ---- page-locked memory ----

static struct host_part mirror_chunks_part_of(const struct mirror *mirror, size_t chunk)
{
    return (struct host_part){mirror->place.session, mirror->place.region, chunk * MIRROR_CHUNK};
}

static CUresult send_changes(struct mirror *mirror)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t at = 0, length; at < mirror->count && result == CUDA_SUCCESS; at += length) {
        length = alike(mirror, at, mirror->count - at);
        struct host_part part = mirror_chunks_part_of(mirror, at);
        if (mirror->chunks[at] == CHUNK_WRITTEN)
            result = host_changes_send(&part, mirror->library_view + part.at,
                                       mirror->known + part.at, mirror_bytes(mirror, at, length),
                                       NULL);
    }
    return result;
}

// For an AWAY chunk, `known` equals this process's copy, so the box sends only its changes.
static CUresult bring_changes(struct mirror *mirror, size_t first, size_t count,
                              const struct mirror_opener *opener)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t at = first, length; at < first + count && result == CUDA_SUCCESS; at += length) {
        length = alike(mirror, at, first + count - at);
        struct host_part part = mirror_chunks_part_of(mirror, at);
        size_t size = mirror_bytes(mirror, at, length);
        enum chunk_state state = mirror->chunks[at];
        const struct host_fetch fetch = {part, mirror->library_view + part.at,
                                         mirror->known + part.at, size};
        if (state == CHUNK_AWAY || state == CHUNK_FRESH)
            make_pages(mirror, at, length);
        if (state == CHUNK_AWAY)
            result = host_changes_fetch(&fetch, NULL);
        if (result == CUDA_SUCCESS && opener)
            opener->open(opener->argument, mirror_address(mirror, at), size, state);
    }
    return result;
}

// ---- memory of a GPU ----

static CUresult send_alike(struct mirror *mirror, size_t first, size_t count, CUstream stream)
{
    if (mirror->chunks[first] == CHUNK_WRITTEN)
        return mirror_chunks_send(mirror, first, count, stream);
    return remote_cuMemsetD8Async(mirror_address(mirror, first), 0,
                                  mirror_bytes(mirror, first, count), stream);
}

static bool is_missing(const struct mirror *mirror, size_t chunk)
{
    return mirror->chunks[chunk] == CHUNK_WRITTEN || mirror->chunks[chunk] == CHUNK_FRESH;
}

CUresult mirror_send_all(struct mirror *mirror)
{
    CUstream stream;
    CUresult result = CUDA_SUCCESS;
    if (mirror->place.region)
        return send_changes(mirror);
    // Work sent in another context's stream must be awaited there.
    if (sent_last && sent_last->place.context != mirror->place.context)
        result = mirror_moves_end();
    if (result == CUDA_SUCCESS)
        result = mirror_chunks_enter(mirror, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    for (size_t at = 0, length; at < mirror->count && result == CUDA_SUCCESS; at += length) {
        length = alike(mirror, at, mirror->count - at);
        if (!is_missing(mirror, at))
            continue;
        sent_last = mirror;
        result = send_alike(mirror, at, length, stream);
    }
    mirror_chunks_leave();
    return result;
}

// Fetches consecutive chunks that have one state.
static CUresult bring_alike(struct mirror *mirror, size_t first, size_t count, CUstream *stream,
                            const struct mirror_opener *opener)
{
    CUresult result = CUDA_SUCCESS;
    enum chunk_state state = mirror->chunks[first];
    if (state == CHUNK_FRESH || mirror->place.in_parts)
        make_pages(mirror, first, count);
    if (state == CHUNK_AWAY) {
        if (!*stream)
            result = mirror_chunks_enter(mirror, stream);
        if (result == CUDA_SUCCESS)
            result = mirror_chunks_fetch(mirror, first, count, *stream, opener);
        if (result != CUDA_SUCCESS || !mirror->place.in_parts)
            return result;
    }
    if (opener)
        opener->open(opener->argument, mirror_address(mirror, first),
                     mirror_bytes(mirror, first, count), state);
    return result;
}

CUresult mirror_bring(struct mirror *mirror, size_t first, size_t count,
                      const struct mirror_opener *opener)
{
    CUstream stream = NULL;
    CUresult result = CUDA_SUCCESS;
    if (mirror->place.region)
        return bring_changes(mirror, first, count, opener);
    for (size_t at = first, length; at < first + count && result == CUDA_SUCCESS; at += length) {
        length = alike(mirror, at, first + count - at);
        result = bring_alike(mirror, at, length, &stream, opener);
    }
    if (stream)
        mirror_chunks_leave();
    return result;
}
