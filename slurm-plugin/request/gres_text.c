// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm-plugin/request/gres_text.h"

#include <stdlib.h>
#include <string.h>

// Returns the "gpu" of an entry such as "gres:gpu:2", or NULL.
static const char *gpu_of(const char *entry, size_t size)
{
    const char *name = entry;

    if (size > 5 && (!strncmp(entry, "gres:", 5) || !strncmp(entry, "gres/", 5)))
        name += 5;
    size -= (size_t)(name - entry);
    return size >= 3 && !strncmp(name, "gpu", 3) && (size == 3 || name[3] == ':' || name[3] == '=')
               ? name
               : NULL;
}

// Copies the entries of GPUs, with an 'r' before the name, or the others.
static char *gres_text_filter(const char *text, bool gpus)
{
    size_t room = text ? strlen(text) : 0;
    char *out = calloc(2, room + 1), *at = out; // an entry has three bytes or more
    bool first = true;

    while (out && text && *text) {
        size_t size = strcspn(text, ",;");
        const char *gpu = gpu_of(text, size);
        if (size && !!gpu == gpus) {
            size_t head = gpu ? (size_t)(gpu - text) : 0;
            if (!first)
                *at++ = ',';
            first = false;
            memcpy(at, text, head);
            at += head;
            if (gpu)
                *at++ = 'r';
            memcpy(at, text + head, size - head);
            at += size - head;
        }
        text += size + (text[size] != '\0');
    }
    return out;
}

char *gres_text_gpus_as_rgpu(const char *text)
{
    return gres_text_filter(text, true);
}

char *gres_text_without_gpus(const char *text)
{
    return gres_text_filter(text, false);
}

bool gres_text_has_gpus(const char *text)
{
    char *gpus = gres_text_gpus_as_rgpu(text);
    bool has = gpus && *gpus;

    free(gpus);
    return has;
}
