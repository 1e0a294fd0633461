// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/managed/mirror_chunks.h"

#include "client-lib/managed/private_stream.h"
#include "client-lib/move/copies.h"
#include "client-lib/move/flags.h"
#include "client_calls.h"

static __thread bool mine;
static struct mirror *sent_last; // whose stream has not been waited for

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

static CUresult enter(const struct mirror *mirror, CUstream *stream)
{
    mine = true;
    CUresult result = private_stream_enter(mirror->place.context, stream);
    mine = result == CUDA_SUCCESS;
    return result;
}

static void leave(void)
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
    CUresult result = enter(mirror, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = copy_fence(mirror->place.session, stream);
    leave();
    return result;
}

CUresult mirror_clear(struct mirror *mirror)
{
    CUstream stream;
    CUresult result = enter(mirror, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_cuMemsetD8Async(mirror->place.base, 0, mirror->place.size, stream);
    if (result == CUDA_SUCCESS)
        result = copy_fence(mirror->place.session, stream);
    leave();
    return result;
}

// The chunks from FIRST on, of COUNT, that are in one state with it.
static size_t alike(const struct mirror *mirror, size_t first, size_t count)
{
    size_t length = 1;
    while (length < count && mirror->chunks[first + length] == mirror->chunks[first])
        length++;
    return length;
}

// How many bytes from ADDRESS on, before END, can be moved; *ADDRESS then is where they begin.
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

static CUresult move(struct mirror *mirror, size_t first, size_t count, CUstream stream, bool send)
{
    uint64_t at = mirror_address(mirror, first), end = at + mirror_bytes(mirror, first, count),
             size;
    CUresult result = CUDA_SUCCESS;
    for (; result == CUDA_SUCCESS && (size = movable(mirror, &at, end)) != 0; at += size) {
        uint8_t *here = mirror->back + (at - mirror->place.base);
        result = send ? copy_host_to_device(mirror->place.session, at, here, size, stream, false)
                      : copy_device_to_host(mirror->place.session, here, at, size, stream, true);
    }
    return result;
}

CUresult mirror_send_written(struct mirror *mirror, size_t first, size_t count)
{
    CUstream stream;
    CUresult result = CUDA_SUCCESS;
    // What was sent in another context's stream is waited for there.
    if (sent_last && sent_last->place.context != mirror->place.context)
        result = mirror_moves_end();
    if (result == CUDA_SUCCESS)
        result = enter(mirror, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    for (size_t at = first, length; at < first + count && result == CUDA_SUCCESS; at += length) {
        length = alike(mirror, at, first + count - at);
        if (mirror->chunks[at] != CHUNK_WRITTEN)
            continue;
        sent_last = mirror;
        result = move(mirror, at, length, stream, true);
    }
    leave();
    return result;
}

// The file gets all of its pages there; new ones are zeros.
static void make_pages(struct mirror *mirror, size_t first, size_t count)
{
    volatile uint8_t *at = mirror->back + first * MIRROR_CHUNK;
    size_t size = mirror_bytes(mirror, first, count);
    for (size_t i = 0; i < size; i += MIRROR_PAGE)
        at[i] = at[i];
}

CUresult mirror_bring(struct mirror *mirror, size_t first, size_t count)
{
    CUstream stream = NULL;
    CUresult result = CUDA_SUCCESS;
    for (size_t at = first, length; at < first + count && result == CUDA_SUCCESS; at += length) {
        length = alike(mirror, at, first + count - at);
        if (mirror->chunks[at] == CHUNK_FRESH || mirror->place.in_parts)
            make_pages(mirror, at, length);
        if (mirror->chunks[at] != CHUNK_AWAY)
            continue;
        if (!stream && (result = enter(mirror, &stream)) != CUDA_SUCCESS)
            return result;
        result = move(mirror, at, length, stream, false);
    }
    if (stream)
        leave();
    return result;
}
