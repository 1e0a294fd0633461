// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/suspender/gpu_pairs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/suspender/checkpoint_calls.h"

static bool gpu_pairs_read_uuid(const char *text, CUuuid *uuid)
{
    unsigned count = 0, byte;

    for (text += strncmp(text, "GPU-", 4) ? 0 : 4; count < 16; text += 2) {
        text += *text == '-';
        if (sscanf(text, "%2x", &byte) != 1)
            return false;
        uuid->bytes[count++] = (char)byte;
    }
    return !*text;
}

struct gpu_pairs *gpu_pairs_read(char *text)
{
    struct gpu_pairs *pairs = calloc(1, sizeof(*pairs));
    char *entry;

    while (pairs && (entry = strsep(&text, ","))) {
        CUcheckpointGpuPair *pair = &pairs->list[pairs->count];
        char *to = strchr(entry, '=');
        if (to)
            *to++ = '\0';
        if (!to || pairs->count++ == GPU_PAIRS_MAX || !gpu_pairs_read_uuid(entry, &pair->oldUuid) ||
            !gpu_pairs_read_uuid(to, &pair->newUuid)) {
            free(pairs);
            return NULL;
        }
    }
    return pairs;
}

static bool gpu_pairs_is_same(const CUuuid *a, const CUuuid *b)
{
    return !memcmp(a, b, sizeof(*a));
}

static bool gpu_pairs_leaves(const struct gpu_pairs *pairs, const CUuuid *uuid)
{
    for (unsigned i = 0; i < pairs->count; i++)
        if (gpu_pairs_is_same(&pairs->list[i].oldUuid, uuid))
            return true;
    return false;
}

static bool is_come_to(const struct gpu_pairs *pairs, const CUuuid *uuid)
{
    for (unsigned i = 0; i < pairs->count; i++)
        if (gpu_pairs_is_same(&pairs->list[i].newUuid, uuid))
            return true;
    return false;
}

// Returns a GPU that a pair leaves and no pair moves to.
static CUuuid place_left(const struct gpu_pairs *pairs, CUuuid otherwise)
{
    for (unsigned i = 0; i < pairs->count; i++)
        if (!is_come_to(pairs, &pairs->list[i].oldUuid))
            return pairs->list[i].oldUuid;
    return otherwise;
}

static void gpu_pairs_add(struct gpu_pairs *pairs, CUuuid uuid)
{
    CUuuid to = is_come_to(pairs, &uuid) ? place_left(pairs, uuid) : uuid;

    if (pairs->count < GPU_PAIRS_MAX && !gpu_pairs_leaves(pairs, &uuid))
        pairs->list[pairs->count++] = (CUcheckpointGpuPair){.oldUuid = uuid, .newUuid = to};
}

void gpu_pairs_complete(struct gpu_pairs *pairs)
{
    int count = 0;

    if (checkpoint.device_count(&count))
        return;
    for (int i = 0; i < count; i++) {
        CUdevice device;
        CUuuid uuid;
        if (!checkpoint.device(&device, i) && !checkpoint.device_uuid(&uuid, device))
            gpu_pairs_add(pairs, uuid);
    }
}
