// Images from elsewhere: recognition, walking a fatbin, decompression.
#include <stdlib.h>

#include "common/driver/image.h"

// Inputs that unpack to far more than their own size would only make the run slow.
enum { UNPACKED_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const void *data, size_t size)
{
    struct fatbin_iterator iterator;
    struct fatbin_entry entry;
    if (fatbin_open(data, size, &iterator) < 0)
        return;
    while (fatbin_next(&iterator, &entry) > 0) {
        char *bytes;
        size_t got;
        if (entry.size <= UNPACKED_MAX && fatbin_read(&entry, &bytes, &got) == 0) {
            if (got > entry.size || bytes[got] != '\0')
                abort();
            free(bytes);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image image;
    if (image_parse(data, size, &image) < 0)
        return 0;
    if (image.size > size)
        abort();
    if (image.kind == IMAGE_FATBIN)
        walk(data, size);
    return 0;
}
