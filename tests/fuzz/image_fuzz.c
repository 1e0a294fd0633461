// SPDX-License-Identifier: BSD-3-Clause
// Images from elsewhere: recognition, walking a fatbin, decompression, counting variables.
#include <stdbool.h>
#include <stdlib.h>

#include "common/driver/image.h"
#include "common/driver/image_memory.h"

// Inputs that unpack to far more than their own size would only make the run slow.
enum { UNPACKED_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Returns true if no entry claims to be large.
static bool walk(const void *data, size_t size)
{
    struct fatbin_iterator iterator;
    struct fatbin_entry entry;
    bool small = true;
    if (fatbin_open(data, size, &iterator) < 0)
        return true;
    while (fatbin_next(&iterator, &entry) > 0) {
        char *bytes;
        size_t got;
        if (entry.size <= UNPACKED_MAX && fatbin_read(&entry, &bytes, &got) == 0) {
            if (got > entry.size || bytes[got] != '\0')
                abort();
            free(bytes);
        }
        small = small && entry.size <= UNPACKED_MAX;
    }
    return small;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image image;
    if (image_parse(data, size, &image) < 0)
        return 0;
    if (image.size > size)
        abort();
    struct image_memory memory;
    if (image.kind == IMAGE_FATBIN && !walk(data, size))
        return 0;
    if (image_memory_find(data, size, 90, &memory) > 0 || memory.common > memory.code)
        abort();
    return 0;
}
