// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/settled_changes.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/byte_changes.h"
#include "common/base/scope.h"

static bool begin_sum(struct settled_changes *changes)
{
    if (!changes->sum)
        changes->sum = calloc(2, changes->size);
    changes->touched = changes->sum ? changes->sum + changes->size : NULL;
    return changes->sum != NULL;
}

CUresult settled_ask(struct settled_changes *changes, bool *changed)
{
    size_t bytes = 0, done = 0;
    SCOPED_FREE uint8_t *answer = malloc(WIRE_INLINE_MAX);
    if (!answer)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result =
        host_changes_ask(&changes->part, changes->part.at, changes->size, answer, &bytes, &done);
    if (result != CUDA_SUCCESS || (!bytes && done == changes->size))
        return result;
    if (!begin_sum(changes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!done || done > changes->size ||
        !byte_changes_gather(answer, bytes, changes->sum, changes->touched, done))
        return host_changes_impossible(&changes->part);
    *changed = *changed || bytes;
    return CUDA_SUCCESS;
}

// The worst case is a change of every other byte.
static size_t packed_most(size_t size)
{
    return 9 * (size / 2 + 1) + 16;
}

// A byte that came back to its old value is a change, too: the program may have written meanwhile.
void settled_pack(struct settled_changes *changes)
{
    size_t at = 0;
    if (!changes->sum || !memchr(changes->touched, 1, changes->size))
        return;
    changes->packed = malloc(packed_most(changes->size));
    if (!changes->packed)
        return;
    for (size_t i = 0; i < changes->size; i++)
        changes->touched[i] = changes->sum[i] ^ (changes->touched[i] ? 0xff : 0);
    changes->bytes = byte_changes_pack(changes->sum, changes->touched, changes->size, &at,
                                       changes->packed, packed_most(changes->size));
}

void settled_apply(const struct settled_changes *changes, bool words)
{
    if (changes->bytes)
        byte_changes_apply_some(changes->packed, changes->bytes, changes->memory, changes->known,
                                words);
}

void settled_release(struct settled_changes *changes)
{
    free(changes->sum);
    free(changes->packed);
}
