// SPDX-License-Identifier: BSD-3-Clause
// Computes the bound from the image alone, because a driver reports only free memory, which other
// processes change too.
//
// Sources: the PTX ISA on state spaces, types and arrays; the ELF specification on sections. CUDA's
// tools put variables into sections .nv.global and .nv.global.init, and each kernel into a section
// of its own.
#include "common/driver/image_memory.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/driver/image.h"
#include "common/driver/ptx_scanner.h"

static uint64_t image_memory_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t image_memory_multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

// ---- text ----

// Bytes of a fundamental type (".f32", ".b64"); 0 where the word is none.
static unsigned image_memory_type_size(const struct ptx_token *token)
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

// Counts the values of an initializer with braces and moves the scanner after it.
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

// Reads the number between brackets and moves the scanner after the closing one.
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

// "<4>" after a name stands for that many variables.
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
            elements = image_memory_multiply(elements, read_extent(scanner));
        }
    }
    if (!ptx_token_is(&scanner->token, "="))
        return unsized ? 0 : elements;
    scanner_advance(scanner);
    uint64_t values = count_values(scanner);
    return unsized ? image_memory_multiply(values, elements) : elements;
}

// After ".global": attributes, alignment, vector and type, then names.
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
            size = image_memory_type_size(&scanner->token);
    }
    scanner->unreadable |= !size;
    while (size && scanner->token.length && !scanner->unreadable) {
        bytes = image_memory_add(bytes, image_memory_multiply(read_declarator(scanner),
                                                              (uint64_t)size * lanes));
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
        bytes = image_memory_add(bytes, elsewhere ? 0 : more);
    }
    *out = bytes;
    return scanner.unreadable ? -EINVAL : 0;
}

// A text of double divisions grew most of all tested texts: ptxas wrote 23 bytes of code for each
// byte of it. A loop that ptxas unrolls may grow more.
enum { TEXT_GROWTH = 32 };

static int text_memory(const char *text, size_t size, struct image_memory *out)
{
    out->code = out->common = image_memory_multiply(size, TEXT_GROWTH);
    return text_bytes(text, size, &out->variables);
}

// ---- ELF ----

// The headers were checked when the image was parsed.
struct elf {
    const uint8_t *start;
    size_t size;
    Elf64_Ehdr header;
    Elf64_Shdr names;
};

static Elf64_Shdr section_at(const struct elf *elf, unsigned i)
{
    Elf64_Shdr section;
    memcpy(&section, elf->start + elf->header.e_shoff + i * sizeof section, sizeof section);
    return section;
}

static bool is_inside(const struct elf *elf, const Elf64_Shdr *section)
{
    return section->sh_offset <= elf->size && section->sh_size <= elf->size - section->sh_offset;
}

static bool holds_variables(const struct elf *elf, const Elf64_Shdr *section)
{
    static const char prefix[] = ".nv.global";
    return section->sh_name < elf->names.sh_size &&
           elf->names.sh_size - section->sh_name >= sizeof prefix - 1 &&
           !memcmp(elf->start + elf->names.sh_offset + section->sh_name, prefix, sizeof prefix - 1);
}

static bool holds_code(const struct elf *elf, const Elf64_Shdr *section)
{
    return section->sh_flags & SHF_ALLOC && section->sh_type != SHT_NOBITS &&
           !holds_variables(elf, section);
}

static void add_section(const struct elf *elf, const Elf64_Shdr *section, struct image_memory *out)
{
    if (holds_variables(elf, section))
        out->variables = image_memory_add(out->variables, section->sh_size);
    else if (holds_code(elf, section))
        out->code = out->common = image_memory_add(out->code, section->sh_size);
}

// Subtracts the sections of kernels from the common part, each once, and ignores the sizes in the
// symbols.
static void image_memory_find_kernels(const struct elf *elf, const Elf64_Shdr *symbols,
                                      uint8_t *seen, struct image_memory *out)
{
    enum { KERNEL = 0x10 }; // in st_other, by CUDA's tools
    Elf64_Sym symbol;
    for (size_t i = 0; i < symbols->sh_size / sizeof symbol; i++) {
        memcpy(&symbol, elf->start + symbols->sh_offset + i * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !(symbol.st_other & KERNEL) ||
            symbol.st_shndx >= elf->header.e_shnum || seen[symbol.st_shndx])
            continue;
        seen[symbol.st_shndx] = 1;
        const Elf64_Shdr section = section_at(elf, symbol.st_shndx);
        if (!holds_code(elf, &section))
            continue;
        out->common -= section.sh_size < out->common ? section.sh_size : out->common;
        out->kernel = section.sh_size > out->kernel ? section.sh_size : out->kernel;
    }
}

static int elf_memory(const void *data, size_t size, struct image_memory *out)
{
    struct elf elf = {.start = data, .size = size};
    memcpy(&elf.header, data, sizeof elf.header);
    if (elf.header.e_shstrndx < elf.header.e_shnum)
        elf.names = section_at(&elf, elf.header.e_shstrndx);
    if (elf.names.sh_type != SHT_STRTAB || !is_inside(&elf, &elf.names))
        elf.names.sh_size = 0;
    if (!elf.header.e_shnum)
        out->code = out->common = size;
    for (unsigned i = 0; i < elf.header.e_shnum; i++) {
        const Elf64_Shdr section = section_at(&elf, i);
        add_section(&elf, &section, out);
    }
    uint8_t *seen = calloc(elf.header.e_shnum + 1u, 1);
    for (unsigned i = 0; seen && i < elf.header.e_shnum; i++) {
        const Elf64_Shdr section = section_at(&elf, i);
        if (section.sh_type == SHT_SYMTAB && is_inside(&elf, &section))
            image_memory_find_kernels(&elf, &section, seen, out);
    }
    free(seen);
    return seen ? 0 : -ENOMEM;
}

// ---- any ----

static int plain_memory(const void *data, size_t size, struct image_memory *out)
{
    struct image image;
    int result = image_parse(data, size, &image);
    *out = (struct image_memory){0};
    if (result < 0)
        return result;
    if (image.kind == IMAGE_FATBIN)
        return -EBADMSG;
    return image.kind == IMAGE_PTX ? text_memory(image.data, image.size, out)
                                   : elf_memory(image.data, image.size, out);
}

static int entry_memory(const struct fatbin_entry *entry, struct image_memory *out)
{
    char *data;
    size_t size;
    int result = fatbin_read(entry, &data, &size);
    if (result < 0)
        return result;
    result = plain_memory(data, size, out);
    free(data);
    return result;
}

static void raise_to(uint64_t *most, uint64_t bytes)
{
    *most = bytes > *most ? bytes : *most;
}

static void image_memory_join(struct image_memory *most, const struct image_memory *other)
{
    raise_to(&most->variables, other->variables);
    raise_to(&most->code, other->code);
    raise_to(&most->common, other->common);
    raise_to(&most->kernel, other->kernel);
}

static int fatbin_memory(const void *data, size_t size, unsigned int arch, struct image_memory *out)
{
    struct image_memory texts = {0}, found;
    struct fatbin_iterator iterator;
    struct fatbin_entry entry;
    bool exact = false;
    int result = fatbin_open(data, size, &iterator);
    while (result >= 0 && (result = fatbin_next(&iterator, &entry)) > 0) {
        if (!fatbin_may_load(&entry, arch))
            continue;
        result = entry_memory(&entry, &found);
        if (result < 0)
            return result;
        image_memory_join(entry.kind == IMAGE_PTX ? &texts : out, &found);
        exact |= entry.kind == IMAGE_ELF && entry.arch == arch;
    }
    if (exact)
        texts.code = texts.common = 0;
    image_memory_join(out, &texts);
    return result;
}

int image_memory_find(const void *data, size_t size, unsigned int arch, struct image_memory *out)
{
    struct image image;
    int result = image_parse(data, size, &image);
    *out = (struct image_memory){0};
    if (result < 0)
        return result;
    return image.kind == IMAGE_FATBIN ? fatbin_memory(data, size, arch, out)
                                      : plain_memory(data, size, out);
}

uint64_t image_memory_of_kernels(const struct image_memory *memory, uint64_t kernels)
{
    uint64_t bytes =
        image_memory_add(memory->common, image_memory_multiply(memory->kernel, kernels));
    return bytes < memory->code ? bytes : memory->code;
}
