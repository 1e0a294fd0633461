// SPDX-License-Identifier: BSD-3-Clause
// Says what an image file holds, a line for each part: for tests that make images with nvcc.
// usage: image-show FILE [MAX-ARCH]    with MAX-ARCH, prints the PTX chosen for it
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/driver/image.h"
#include "common/driver/image_memory.h"

static const char *const compression_names[] = {"stored", "lz4", "zstd"};

static void *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*size + 1);
    if (!data || fread(data, 1, *size, file) != *size)
        exit(1);
    data[*size] = '\0';
    fclose(file);
    return data;
}

static int show_entries(const struct image *image)
{
    struct fatbin_iterator iterator;
    struct fatbin_entry entry;
    int result = fatbin_open(image->data, image->size, &iterator);
    while (result >= 0 && (result = fatbin_next(&iterator, &entry)) > 0) {
        char *bytes = NULL;
        size_t size = 0;
        struct image inner = {0};
        result = fatbin_read(&entry, &bytes, &size);
        if (result == 0)
            result = image_parse(bytes, size, &inner);
        printf("entry kind=%s arch=%u compression=%s inside=%s result=%d\n",
               image_kind_name(entry.kind), entry.arch, compression_names[entry.compression],
               result < 0 ? "nothing" : image_kind_name(inner.kind), result);
        free(bytes);
    }
    return result;
}

int main(int argc, char **argv)
{
    size_t size = 0;
    struct image image;
    void *data = argc > 1 ? read_all(argv[1], &size) : NULL;
    if (!data)
        return 2;
    int result = image_parse(data, size, &image);
    if (result == 0 && argc > 2) {
        char *text = NULL;
        result = image_extract_ptx(&image, (unsigned)strtoul(argv[2], NULL, 10), &text, &size);
        if (result == 0)
            fputs(text, stdout);
        free(text);
    } else if (result == 0) {
        printf("image kind=%s size=%zu of %zu\n", image_kind_name(image.kind), image.size, size);
        if (image.kind == IMAGE_FATBIN)
            result = show_entries(&image);
        struct image_memory memory;
        if (result == 0)
            result = image_memory_find(data, size, 90, &memory);
        if (result == 0)
            printf("variables %llu\ncode %llu common %llu kernel %llu\n",
                   (unsigned long long)memory.variables, (unsigned long long)memory.code,
                   (unsigned long long)memory.common, (unsigned long long)memory.kernel);
    }
    if (result < 0)
        fprintf(stderr, "%s: %s\n", argv[1], strerror(-result));
    free(data);
    return result < 0;
}
