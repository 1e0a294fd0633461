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

CUresult host_changes_fetch(const struct host_fetch *fetch, pthread_mutex_t *applying)
{
    const struct host_part *part = &fetch->part;
    SCOPED_FREE uint8_t *changes = malloc(WIRE_INLINE_MAX);
    if (!changes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t at = 0; at < fetch->size;) {
        size_t bytes = 0, done = 0, left = fetch->size - at < PIECE ? fetch->size - at : PIECE;
        CUresult result = host_changes_ask(part, part->at + at, left, changes, &bytes, &done);
        if (result != CUDA_SUCCESS)
            return result;
        if (!done || done > left ||
            !host_changes_apply(changes, bytes, fetch->memory + at, fetch->known + at, done,
                                applying))
            return host_changes_impossible(part);
        at += done;
    }
    return CUDA_SUCCESS;
}

// Applies the answers to parts of LIST, which lack what is done then. Returns false if they are
// malformed.
static bool apply_answers(struct host_fetch *list, unsigned int count, const uint8_t *answers,
                          size_t size, pthread_mutex_t *applying)
{
    struct wire_mirror_changes head;
    size_t at = 0;
    for (unsigned int i = 0; i < count && size - at >= sizeof(head); i++) {
        memcpy(&head, answers + at, sizeof(head));
        at += sizeof(head);
        size_t padded = ((size_t)head.bytes + 7) & ~(size_t)7;
        if (padded > size - at || head.done > list[i].size ||
            !host_changes_apply(answers + at, head.bytes, list[i].memory, list[i].known, head.done,
                                applying))
            return false;
        at += padded;
        list[i].part.at += head.done;
        list[i].memory += head.done;
        list[i].known += head.done;
        list[i].size -= head.done;
    }
    return at == size;
}

static CUresult fetch_together(struct host_fetch *list, unsigned int count,
                               pthread_mutex_t *applying)
{
    struct wire_mirror_part parts[WIRE_MIRROR_PARTS_MAX] = {0};
    size_t size = 0, asked = count * sizeof(parts[0]);
    SCOPED_FREE uint8_t *answers = malloc(WIRE_INLINE_MAX);
    if (!answers)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned int i = 0; i < count; i++)
        parts[i] = (struct wire_mirror_part){.at = list[i].part.at,
                                             .size = list[i].size,
                                             .region = list[i].part.region};
    struct call call = {.session = list->part.session, .op = OP_host_mirrors_read};
    struct args_host_mirrors_read *args = call_reserve(&call, sizeof(*args) + asked);
    if (!args)
        return call.result;
    *args =
        (struct args_host_mirrors_read){.bytes = (uint32_t)asked, .reply_room = WIRE_INLINE_MAX};
    memcpy(args + 1, parts, asked);
    CUresult result = call_wait_bytes(&call, NULL, 0, answers, WIRE_INLINE_MAX, &size);
    if (result == CUDA_SUCCESS && !apply_answers(list, count, answers, size, applying))
        return host_changes_impossible(&list->part);
    return result;
}

CUresult host_changes_fetch_all(struct host_fetch *list, unsigned int count,
                                pthread_mutex_t *applying)
{
    CUresult result = CUDA_SUCCESS;
    // A part that has not come in full is asked for alone.
    if (count > 1 && session_knows(list->part.session, OP_host_mirrors_read))
        (void)fetch_together(list, count, applying);
    for (unsigned int i = 0; i < count; i++) {
        CUresult fetched = list[i].size ? host_changes_fetch(&list[i], applying) : CUDA_SUCCESS;
        result = result == CUDA_SUCCESS ? fetched : result;
    }
    return result;
}
