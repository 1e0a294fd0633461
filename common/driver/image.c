// SPDX-License-Identifier: BSD-3-Clause
// Detects the kind and size of images: fat binary wrapper, fat binary, ELF, PTX.
#include "common/driver/image.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/cursor.h"
#include "common/driver/fatbin_format.h"

// Stands for "no bound known": beyond any user address, and still no overflow when added to one.
static const size_t unbounded = (size_t)1 << 62;

const char *image_kind_name(enum image_kind kind)
{
    switch (kind) {
    case IMAGE_FATBIN: return "fatbin";
    case IMAGE_ELF: return "elf";
    case IMAGE_PTX: return "ptx";
    }
    return "unknown";
}

// ---- text ----

// Passes over one comment or one stretch of blanks; false where there is neither. A string that
// ends within a comment is at its end afterwards. Text ends at NUL or at END.
static bool image_skip_space(const char **at, const char *end)
{
    const char *text = *at;
    if (text < end && ascii_is_space(*text)) {
        *at = text + 1;
        return true;
    }
    if (end - text < 2 || text[0] != '/' || (text[1] != '/' && text[1] != '*'))
        return false;
    bool block = text[1] == '*';
    for (text += 2; text < end && *text; text++) {
        if (!block && *text == '\n')
            break;
        if (block && text[0] == '*' && end - text > 1 && text[1] == '/') {
            text += 2;
            break;
        }
    }
    *at = text;
    return true;
}

// PTX begins with its version, after blanks and comments.
static bool is_ptx(const char *text, size_t limit)
{
    static const char directive[] = ".version";
    const char *end = text + limit;
    while (image_skip_space(&text, end))
        continue;
    for (size_t i = 0; i < sizeof directive - 1; i++) {
        if (text + i >= end || text[i] != directive[i])
            return false;
    }
    return true;
}

// ---- ELF ----

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// The end of COUNT records of SIZE bytes at OFFSET (0 for none), or UINT64_MAX where that does not
// add up. COUNT times SIZE must not overflow.
static uint64_t table_end(uint64_t offset, uint64_t count, uint64_t size)
{
    uint64_t end;
    if (!count)
        return 0;
    if (__builtin_add_overflow(offset, count * size, &end))
        return UINT64_MAX;
    return end;
}

// Returns the size by header and program header table; the section headers lie in *DATA up to
// LIMIT.
static uint64_t elf_size(const void *data, size_t limit)
{
    Elf64_Ehdr header;
    struct cursor_reader reader = cursor_reader_on(data, limit);
    cursor_copy(&reader, &header, sizeof header);
    if (reader.failed || header.e_ident[EI_CLASS] != ELFCLASS64)
        return UINT64_MAX;
    if ((header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr)) ||
        (header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr)))
        return UINT64_MAX;
    uint64_t segments_end = table_end(header.e_phoff, header.e_phnum, sizeof(Elf64_Phdr));
    uint64_t sections_end = table_end(header.e_shoff, header.e_shnum, sizeof(Elf64_Shdr));
    uint64_t end = max_u64(sizeof header, max_u64(segments_end, sections_end));
    if (end > limit)
        return UINT64_MAX;
    const uint8_t *start = data;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, start + header.e_phoff + i * sizeof segment, sizeof segment);
        end = max_u64(end, table_end(segment.p_offset, 1, segment.p_filesz));
    }
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, start + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL)
            end = max_u64(end, table_end(section.sh_offset, 1, section.sh_size));
    }
    return end;
}

// ---- any ----

static uint64_t fatbin_size(const void *data, size_t limit)
{
    struct fatbin_header header;
    struct cursor_reader reader = cursor_reader_on(data, limit);
    cursor_copy(&reader, &header, sizeof header);
    if (reader.failed || header.header_size < sizeof header)
        return UINT64_MAX;
    return table_end(header.header_size, 1, header.size);
}

static int image_give(enum image_kind kind, const void *data, uint64_t size, size_t limit,
                      struct image *out)
{
    if (size > limit)
        return -EBADMSG;
    *out = (struct image){.kind = kind, .data = data, .size = (size_t)size};
    return 0;
}

int image_parse(const void *data, size_t size, struct image *out)
{
    if (!data)
        return -EINVAL;
    struct cursor_reader reader = cursor_reader_on(data, size);
    // Byte by byte, since a text may end before its fourth byte.
    const uint8_t *magic = data;
    if (size >= 1 && *magic == (FATBIN_MAGIC & 0xff) && cursor_u32(&reader) == FATBIN_MAGIC)
        return image_give(IMAGE_FATBIN, data, fatbin_size(data, size), size, out);
    if (size >= 1 && *magic == ELFMAG0 && !strncmp(data, ELFMAG, size < SELFMAG ? size : SELFMAG))
        return image_give(IMAGE_ELF, data, elf_size(data, size), size, out);
    if (is_ptx(data, size))
        return image_give(IMAGE_PTX, data, strnlen(data, size), size, out);
    return -EBADMSG;
}

int image_locate(const void *pointer, struct image *out)
{
    if (!pointer)
        return -EINVAL;
    const uint8_t *magic = pointer;
    if (*magic == (FATBIN_WRAPPER_MAGIC & 0xff)) {
        struct fatbin_wrapper wrapper;
        memcpy(&wrapper.magic, pointer, sizeof wrapper.magic);
        if (le32toh(wrapper.magic) == FATBIN_WRAPPER_MAGIC) {
            memcpy(&wrapper, pointer, sizeof wrapper);
            pointer = wrapper.fatbin;
        }
    }
    return image_parse(pointer, unbounded, out);
}
