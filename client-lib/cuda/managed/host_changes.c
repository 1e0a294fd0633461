// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/host_changes.h"

#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/objects/call.h"
#include "common/base/byte_changes.h"
#include "common/base/scope.h"
#include "cuda_ops.h"

enum { PIECE = 1024 * 1024 * 1024 };

// Sends one record of packed changes. Its size is fixed when it is reserved, so the caller packs
// the changes into a buffer first.
static CUresult send_packed(const struct host_part *part, uint64_t at, const uint8_t *changes,
                            size_t bytes)
{
    struct call call = {.session = part->session, .op = OP_host_mirror_write};
    struct args_host_mirror_write *args = call_reserve(&call, sizeof(*args) + bytes);
    if (!args)
        return call.result;
    *args =
        (struct args_host_mirror_write){.region = part->region, .at = at, .bytes = (uint32_t)bytes};
    memcpy(args + 1, changes, bytes);
    return call_post(&call);
}

CUresult host_changes_send(const struct host_part *part, const uint8_t *now, uint8_t *known,
                           size_t size, bool *changed)
{
    SCOPED_FREE uint8_t *changes = NULL;
    CUresult result = CUDA_SUCCESS;
    for (size_t first = 0, piece; first < size && result == CUDA_SUCCESS; first += piece) {
        piece = size - first < PIECE ? size - first : PIECE;
        for (size_t at = 0; at < piece && result == CUDA_SUCCESS;) {
            if (!changes && !(changes = malloc(WIRE_INLINE_MAX)))
                return CUDA_ERROR_OUT_OF_MEMORY;
            size_t bytes =
                byte_changes_pack(now + first, known + first, piece, &at, changes, WIRE_INLINE_MAX);
            if (bytes && changed)
                *changed = true;
            if (bytes)
                result = send_packed(part, part->at + first, changes, bytes);
        }
    }
    return result;
}

CUresult host_changes_ask(const struct host_part *part, uint64_t at, size_t size, uint8_t *changes,
                          size_t *bytes, size_t *done)
{
    struct reply_host_mirror_read reply = {0};
    struct call call = {.session = part->session, .op = OP_host_mirror_read};
    struct args_host_mirror_read *args = call_reserve(&call, sizeof(*args));
    if (!args)
        return call.result;
    *args = (struct args_host_mirror_read){
        .region = part->region, .at = at, .size = size, .reply_room = WIRE_INLINE_MAX};
    CUresult result =
        call_wait_bytes(&call, &reply, sizeof(reply), changes, WIRE_INLINE_MAX, bytes);
    *done = reply.done;
    return result;
}

CUresult host_changes_impossible(const struct host_part *part)
{
    session_fail(part->session, CUDA_ERROR_DEVICE_UNAVAILABLE,
                 "changes of mirrored memory that cannot be");
    return session_lost(part->session);
}

static bool host_changes_apply(const uint8_t *changes, size_t bytes, uint8_t *memory,
                               uint8_t *known, size_t size, pthread_mutex_t *applying)
{
    if (!bytes)
        return true;
    if (applying)
        pthread_mutex_lock(applying);
    bool fits = byte_changes_apply(changes, bytes, memory, known, size);
    if (applying)
        pthread_mutex_unlock(applying);
    return fits;
}

CUresult host_changes_fetch(const struct host_part *part, uint8_t *memory, uint8_t *known,
                            size_t size, pthread_mutex_t *applying)
{
    SCOPED_FREE uint8_t *changes = malloc(WIRE_INLINE_MAX);
    if (!changes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t at = 0; at < size;) {
        size_t bytes = 0, done = 0, left = size - at < PIECE ? size - at : PIECE;
        CUresult result = host_changes_ask(part, part->at + at, left, changes, &bytes, &done);
        if (result != CUDA_SUCCESS)
            return result;
        if (!done || done > left ||
            !host_changes_apply(changes, bytes, memory + at, known + at, done, applying))
            return host_changes_impossible(part);
        at += done;
    }
    return CUDA_SUCCESS;
}
