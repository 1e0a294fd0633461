// How much device memory the variables of an image take, read from the image alone: a driver tells
// it only by what is free afterwards, which others change too.
//
// Sources: the PTX ISA on state spaces, types and arrays; the ELF specification for sections, of which
// CUDA's tools name those with variables .nv.global and .nv.global.init.
#include "common/driver/variables.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/driver/image.h"

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

struct token {
    const char *text;
    size_t length; // 0: the end
};

struct scanner {
    const char *at, *end;
    struct token token;
};

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static const char *behind_comment(const char *at, const char *end)
{
    if (at[1] == '/') {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        return line ? line : end;
    }
    const char *close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
    return close ? close + 2 : end;
}

// Words with their dots, and single characters. A string is one token.
static void advance(struct scanner *scanner)
{
    const char *at = scanner->at, *end = scanner->end;
    while (at < end) {
        if (isspace((unsigned char)*at))
            at++;
        else if (end - at > 1 && *at == '/' && (at[1] == '/' || at[1] == '*'))
            at = behind_comment(at, end);
        else
            break;
    }
    scanner->token.text = at;
    if (at < end && in_word(*at)) {
        while (at < end && in_word(*at))
            at++;
    } else if (at < end && *at == '"') {
        const char *close = memchr(at + 1, '"', (size_t)(end - at - 1));
        at = close ? close + 1 : end;
    } else if (at < end) {
        at++;
    }
    scanner->token.length = (size_t)(at - scanner->token.text);
    scanner->at = at;
}

static bool is(const struct token *token, const char *text)
{
    return token->length == strlen(text) && !memcmp(token->text, text, token->length);
}

// Bytes of a fundamental type (".f32", ".b64"); 0 where the word is none.
static unsigned type_size(const struct token *token)
{
    static const char handles[][12] = {".texref", ".samplerref", ".surfref"};
    unsigned bits = 0;
    if (token->length < 3 || token->text[0] != '.')
        return 0;
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        if (is(token, handles[i]))
            return 8;
    size_t i = token->text[1] == 'b' && token->text[2] == 'f' ? 3 : 2;
    if (!strchr("bsuf", token->text[1]))
        return 0;
    for (; i < token->length && isdigit((unsigned char)token->text[i]) && bits < 1024; i++)
        bits = bits * 10 + (unsigned)(token->text[i] - '0');
    unsigned pair = i + 2 == token->length && !memcmp(token->text + i, "x2", 2) ? 2 : 1;
    return bits / 8 * pair;
}

static uint64_t number(const struct token *token)
{
    char text[32] = "";
    if (token->length >= sizeof text)
        return UINT64_MAX;
    memcpy(text, token->text, token->length);
    return strtoull(text, NULL, 0);
}

// The values of an initializer, with their braces; the scanner is behind it then.
static uint64_t count_values(struct scanner *scanner)
{
    uint64_t values = 0;
    unsigned depth = 0;
    bool value = false;
    for (; scanner->token.length; advance(scanner)) {
        if (is(&scanner->token, "{")) {
            depth++;
        } else if (is(&scanner->token, "}") || is(&scanner->token, ",")) {
            if (!depth)
                break;
            values += value;
            value = false;
            depth -= is(&scanner->token, "}");
        } else if (!depth && is(&scanner->token, ";")) {
            break;
        } else {
            value = true;
        }
    }
    return values + value;
}

// One "name[2][3] = {...}" of a declaration; gives the number of its elements.
static uint64_t read_declarator(struct scanner *scanner)
{
    uint64_t elements = 1;
    bool unsized = false;
    advance(scanner); // the name
    while (is(&scanner->token, "[")) {
        advance(scanner);
        if (is(&scanner->token, "]")) {
            unsized = true;
        } else {
            elements = multiply(elements, number(&scanner->token));
            while (scanner->token.length && !is(&scanner->token, "]"))
                advance(scanner);
        }
        advance(scanner);
    }
    if (!is(&scanner->token, "="))
        return unsized ? 0 : elements;
    advance(scanner);
    uint64_t values = count_values(scanner);
    return unsized ? values : elements;
}

// Behind ".global": attributes, alignment, vector and type, then names.
static uint64_t read_declaration(struct scanner *scanner)
{
    unsigned size = 0, lanes = 1;
    uint64_t bytes = 0;
    for (; scanner->token.length && !size; advance(scanner)) {
        if (is(&scanner->token, ".v2"))
            lanes = 2;
        else if (is(&scanner->token, ".v4"))
            lanes = 4;
        else if (is(&scanner->token, ";"))
            return 0;
        else
            size = type_size(&scanner->token);
    }
    while (scanner->token.length) {
        bytes = add(bytes, multiply(read_declarator(scanner), (uint64_t)size * lanes));
        if (!is(&scanner->token, ","))
            break;
        advance(scanner);
    }
    return bytes;
}

static uint64_t text_bytes(const char *text, size_t size)
{
    struct scanner scanner = {.at = text, .end = text + size};
    bool elsewhere = false, parameter = false;
    uint64_t bytes = 0;
    for (advance(&scanner); scanner.token.length;) {
        bool declares = is(&scanner.token, ".global") && !parameter;
        parameter = is(&scanner.token, ".ptr"); // whose space is said, not a variable's
        if (is(&scanner.token, ".extern"))
            elsewhere = true;
        else if (is(&scanner.token, ";"))
            elsewhere = false;
        advance(&scanner);
        if (!declares)
            continue;
        uint64_t more = read_declaration(&scanner);
        bytes = add(bytes, elsewhere ? 0 : more);
    }
    return bytes;
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
    *bytes = image.kind == IMAGE_ELF ? elf_bytes(image.data, image.size)
                                     : text_bytes(image.data, image.size);
    return 0;
}

// Code runs on devices of its own major version; a text on all that are not older.
static bool may_load(const struct fatbin_entry *entry, unsigned int arch)
{
    return entry->kind == IMAGE_ELF ? entry->arch / 10 == arch / 10 : entry->arch <= arch;
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
        if (may_load(&entry, arch))
            result = entry_bytes(&entry, &of_entry);
        *bytes = of_entry > *bytes ? of_entry : *bytes;
    }
    return result < 0 ? result : 0;
}
