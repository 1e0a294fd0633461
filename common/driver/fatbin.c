// SPDX-License-Identifier: BSD-3-Clause
// Iterates over fat binaries, decompresses entries, and finds the PTX of an image. All offsets are
// checked, because the data may come from another machine.
#include <errno.h>
#include <lz4.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/base/cursor.h"
#include "common/driver/fatbin_format.h"
#include "common/driver/image.h"

int fatbin_open(const void *data, size_t size, struct fatbin_iterator *iterator)
{
    struct image image;
    int result = image_parse(data, size, &image);
    if (result < 0)
        return result;
    if (image.kind != IMAGE_FATBIN)
        return -EBADMSG;
    struct fatbin_header header;
    memcpy(&header, data, sizeof header);
    iterator->next = (const uint8_t *)data + header.header_size;
    iterator->end = (const uint8_t *)data + image.size;
    return 0;
}

// Fills ENTRY from its header and payload; false where the two do not fit.
static bool fatbin_describe(const struct fatbin_entry_header *header, const void *payload,
                            struct fatbin_entry *entry)
{
    *entry = (struct fatbin_entry){
        .kind = header->kind == FATBIN_KIND_PTX ? IMAGE_PTX : IMAGE_ELF,
        .arch = header->arch,
        .major = header->major,
        .minor = header->minor,
        .compression = header->flags & FATBIN_FLAG_ZSTD  ? FATBIN_ZSTD
                       : header->flags & FATBIN_FLAG_LZ4 ? FATBIN_LZ4
                                                         : FATBIN_STORED,
        .payload = payload,
        .payload_size = header->padded_size,
        .size = header->padded_size,
    };
    if (entry->compression == FATBIN_STORED)
        return true;
    entry->payload_size = header->compressed_size;
    entry->size = header->uncompressed_size;
    return entry->payload_size <= header->padded_size;
}

int fatbin_next(struct fatbin_iterator *iterator, struct fatbin_entry *entry)
{
    while (iterator->next < iterator->end) {
        struct cursor_reader reader =
            cursor_reader_on(iterator->next, (size_t)(iterator->end - iterator->next));
        struct fatbin_entry_header header;
        cursor_copy(&reader, &header, sizeof header);
        if (reader.failed || header.header_size < sizeof header)
            return -EBADMSG;
        cursor_take(&reader, header.header_size - sizeof header);
        const void *payload = cursor_take(&reader, header.padded_size);
        if (reader.failed)
            return -EBADMSG;
        iterator->next = reader.next;
        if (header.kind == FATBIN_KIND_PTX || header.kind == FATBIN_KIND_ELF)
            return fatbin_describe(&header, payload, entry) ? 1 : -EBADMSG;
    }
    return 0;
}

static bool decompress(const struct fatbin_entry *entry, char *out)
{
    switch (entry->compression) {
    case FATBIN_STORED: memcpy(out, entry->payload, entry->size); return true;
    case FATBIN_LZ4:
        return LZ4_decompress_safe(entry->payload, out, (int)entry->payload_size,
                                   (int)entry->size) == (int)entry->size;
    case FATBIN_ZSTD:
        return ZSTD_decompress(out, entry->size, entry->payload, entry->payload_size) ==
               entry->size;
    }
    return false;
}

int fatbin_read(const struct fatbin_entry *entry, char **out, size_t *size)
{
    if (entry->size > FATBIN_ENTRY_MAX || entry->payload_size > FATBIN_ENTRY_MAX)
        return -EFBIG;
    char *bytes = malloc(entry->size + 1);
    if (!bytes)
        return -ENOMEM;
    if (!decompress(entry, bytes)) {
        free(bytes);
        return -EBADMSG;
    }
    bytes[entry->size] = '\0';
    *out = bytes;
    *size = entry->kind == IMAGE_PTX ? strnlen(bytes, entry->size) : entry->size;
    return 0;
}

int image_extract_ptx(const struct image *image, unsigned int max_arch, char **text, size_t *size)
{
    switch (image->kind) {
    case IMAGE_PTX:
        *text = malloc(image->size + 1);
        if (!*text)
            return -ENOMEM;
        memcpy(*text, image->data, image->size);
        (*text)[image->size] = '\0';
        *size = image->size;
        return 0;
    case IMAGE_ELF: return -ENOENT;
    case IMAGE_FATBIN: break;
    }
    struct fatbin_iterator iterator;
    struct fatbin_entry entry, best = {0};
    int result = fatbin_open(image->data, image->size, &iterator);
    if (result < 0)
        return result;
    while ((result = fatbin_next(&iterator, &entry)) > 0) {
        if (entry.kind == IMAGE_PTX && entry.arch <= max_arch && entry.arch > best.arch)
            best = entry;
    }
    if (result < 0)
        return result;
    return best.kind ? fatbin_read(&best, text, size) : -ENOENT;
}

bool fatbin_may_load(const struct fatbin_entry *entry, unsigned int arch)
{
    return entry->kind == IMAGE_ELF ? entry->arch / 10 == arch / 10 : entry->arch <= arch;
}

static bool entry_may_name(const struct fatbin_entry *entry, const char *name)
{
    char *data = NULL;
    size_t size = 0;
    bool may = fatbin_read(entry, &data, &size) || memmem(data, size, name, strlen(name));
    free(data);
    return may;
}

bool image_may_name(const void *data, size_t size, unsigned int arch, const char *name, size_t most)
{
    struct fatbin_iterator iterator;
    struct fatbin_entry entry;
    uint32_t magic = 0;
    int r;
    memcpy(&magic, data, size < sizeof magic ? size : sizeof magic);
    if (magic != FATBIN_MAGIC)
        return memmem(data, size, name, strlen(name));
    if (fatbin_open(data, size, &iterator))
        return true;
    while ((r = fatbin_next(&iterator, &entry)) == 1) {
        if (arch && !fatbin_may_load(&entry, arch))
            continue;
        if (entry.size > most || entry_may_name(&entry, name))
            return true;
        most -= entry.size;
    }
    return r != 0;
}
