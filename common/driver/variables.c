// SPDX-License-Identifier: BSD-3-Clause
// How much device memory the variables of an image take, read from the image alone: a driver tells
// it only by what is free afterwards, which others change too.
//
// Sources: the PTX ISA on state spaces, types and arrays; the ELF specification for sections, of which
// CUDA's tools name those with variables .nv.global and .nv.global.init.
#include "common/driver/variables.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/ascii.h"
#include "common/driver/image.h"
#include "common/driver/ptx_scanner.h"

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

// ---- text ----

// Bytes of a fundamental type (".f32", ".b64"); 0 where the word is none.
static unsigned type_size(const struct ptx_token *token)
{
    static const char handles[][12] = {".texref", ".samplerref", ".surfref"};
    unsigned bits = 0;
    if (token->length < 3 || token->text[0] != '.')
        return 0;
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        if (ptx_token_is(token, handles[i]))
            return 8;
    size_t i = token->text[1] == 'b' && token->text[2] == 'f' ? 3 : 2;
    if (!strchr("bsuf", token->text[1]))
        return 0;
    for (; i < token->length && ascii_is_digit(token->text[i]) && bits < 1024; i++)
        bits = bits * 10 + (unsigned)(token->text[i] - '0');
    unsigned pair = i + 2 == token->length && !memcmp(token->text + i, "x2", 2) ? 2 : 1;
    return bits / 8 * pair;
}

// The values of an initializer, with their braces; the scanner is behind it then.
static uint64_t count_values(struct scanner *scanner)
{
    uint64_t values = 0;
    unsigned depth = 0;
    bool value = false;
    for (; scanner->token.length; scanner_advance(scanner)) {
        if (ptx_token_is(&scanner->token, "{")) {
            depth++;
        } else if (ptx_token_is(&scanner->token, "}") || ptx_token_is(&scanner->token, ",")) {
            if (!depth)
                break;
            values += value;
            value = false;
            depth -= ptx_token_is(&scanner->token, "}");
        } else if (!depth && ptx_token_is(&scanner->token, ";")) {
            break;
        } else {
            value = true;
        }
    }
    return values + value;
}

// The number between brackets; the scanner is behind the closing one then.
static uint64_t read_extent(struct scanner *scanner)
{
    uint64_t extent;
    scanner_advance(scanner);
    if (!scanner_constant(scanner, &extent) || !ptx_token_is(&scanner->token, "]")) {
        scanner->unreadable = true;
        return 0;
    }
    scanner_advance(scanner);
    return extent;
}

// "<4>" behind a name stands for that many variables.
static uint64_t read_repetition(struct scanner *scanner)
{
    const char *close = memchr(scanner->at, '>', (size_t)(scanner->end - scanner->at));
    struct scanner inside = {.at = scanner->at, .end = close ? close : scanner->at};
    uint64_t count;
    scanner_advance(&inside);
    if (!scanner_constant(&inside, &count) || inside.token.length) {
        scanner->unreadable = true;
        return 0;
    }
    scanner->at = close + 1;
    scanner_advance(scanner);
    return count;
}

// One "name[2][3] = {...}" or "name<4>" of a declaration; gives the number of its elements.
static uint64_t read_declarator(struct scanner *scanner)
{
    uint64_t elements = 1;
    bool unsized = false;
    scanner_advance(scanner); // the name
    if (ptx_token_is(&scanner->token, "<"))
        elements = read_repetition(scanner);
    while (ptx_token_is(&scanner->token, "[")) {
        struct scanner inside = *scanner;
        scanner_advance(&inside);
        if (ptx_token_is(&inside.token, "]")) {
            unsized = true;
            *scanner = inside;
            scanner_advance(scanner);
        } else {
            elements = multiply(elements, read_extent(scanner));
        }
    }
    if (!ptx_token_is(&scanner->token, "="))
        return unsized ? 0 : elements;
    scanner_advance(scanner);
    uint64_t values = count_values(scanner);
    return unsized ? multiply(values, elements) : elements;
}

// Behind ".global": attributes, alignment, vector and type, then names.
static uint64_t read_declaration(struct scanner *scanner)
{
    unsigned size = 0, lanes = 1;
    uint64_t bytes = 0;
    for (; scanner->token.length && !size; scanner_advance(scanner)) {
        if (ptx_token_is(&scanner->token, ".v2"))
            lanes = 2;
        else if (ptx_token_is(&scanner->token, ".v4"))
            lanes = 4;
        else if (ptx_token_is(&scanner->token, ";"))
            break;
        else
            size = type_size(&scanner->token);
    }
    scanner->unreadable |= !size;
    while (size && scanner->token.length && !scanner->unreadable) {
        bytes = add(bytes, multiply(read_declarator(scanner), (uint64_t)size * lanes));
        if (!ptx_token_is(&scanner->token, ","))
            break;
        scanner_advance(scanner);
    }
    return bytes;
}

static int text_bytes(const char *text, size_t size, uint64_t *out)
{
    struct scanner scanner = {.at = text, .end = text + size};
    bool elsewhere = false, parameter = false;
    uint64_t bytes = 0;
    for (scanner_advance(&scanner); scanner.token.length && !scanner.unreadable;) {
        bool declares = ptx_token_is(&scanner.token, ".global") && !parameter;
        parameter = ptx_token_is(&scanner.token, ".ptr"); // whose space is said, not a variable's
        if (ptx_token_is(&scanner.token, ".extern"))
            elsewhere = true;
        else if (ptx_token_is(&scanner.token, ";"))
            elsewhere = false;
        scanner_advance(&scanner);
        if (!declares)
            continue;
        uint64_t more = read_declaration(&scanner);
        bytes = add(bytes, elsewhere ? 0 : more);
    }
    *out = bytes;
    return scanner.unreadable ? -EINVAL : 0;
}

// ---- ELF ----

// The headers were checked when the image was parsed.
static uint64_t elf_bytes(const void *data, size_t size)
{
    const uint8_t *start = data;
    Elf64_Ehdr header;
    Elf64_Shdr names;
    uint64_t bytes = 0;
    memcpy(&header, data, sizeof header);
    if (header.e_shstrndx >= header.e_shnum)
        return 0;
    memcpy(&names, start + header.e_shoff + header.e_shstrndx * sizeof names, sizeof names);
    if (names.sh_type != SHT_STRTAB || names.sh_offset > size ||
        names.sh_size > size - names.sh_offset)
        return 0;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        static const char prefix[] = ".nv.global";
        Elf64_Shdr section;
        memcpy(&section, start + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_name < names.sh_size &&
            names.sh_size - section.sh_name >= sizeof prefix - 1 &&
            !memcmp(start + names.sh_offset + section.sh_name, prefix, sizeof prefix - 1))
            bytes = add(bytes, section.sh_size);
    }
    return bytes;
}

// ---- any ----

static int plain_bytes(const void *data, size_t size, uint64_t *bytes)
{
    struct image image;
    int result = image_parse(data, size, &image);
    if (result < 0)
        return result;
    if (image.kind == IMAGE_FATBIN)
        return -EBADMSG;
    if (image.kind == IMAGE_PTX)
        return text_bytes(image.data, image.size, bytes);
    *bytes = elf_bytes(image.data, image.size);
    return 0;
}

static int entry_bytes(const struct fatbin_entry *entry, uint64_t *bytes)
{
    char *data;
    size_t size;
    int result = fatbin_read(entry, &data, &size);
    if (result < 0)
        return result;
    result = plain_bytes(data, size, bytes);
    free(data);
    return result;
}

int image_variable_bytes(const void *data, size_t size, unsigned int arch, uint64_t *bytes)
{
    struct fatbin_iterator iterator;
    struct fatbin_entry entry;
    struct image image;
    int result = image_parse(data, size, &image);
    *bytes = 0;
    if (result < 0)
        return result;
    if (image.kind != IMAGE_FATBIN)
        return plain_bytes(data, size, bytes);
    result = fatbin_open(data, size, &iterator);
    while (result >= 0 && (result = fatbin_next(&iterator, &entry)) > 0) {
        uint64_t of_entry = 0;
        if (fatbin_may_load(&entry, arch))
            result = entry_bytes(&entry, &of_entry);
        *bytes = of_entry > *bytes ? of_entry : *bytes;
    }
    return result < 0 ? result : 0;
}
