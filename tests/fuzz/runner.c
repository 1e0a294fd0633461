// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target as an ordinary test: over every file of its corpus, over every truncation of
// the small ones, and over a fixed number of mutations that are the same in every run.
//
// A target is a file <name>_fuzz.c with LLVMFuzzerTestOneInput, linked with this to the program
// fuzz-<name>; its corpus is tests/fuzz/corpus/<name>/. `make fuzz` builds the same file without
// this one as a libFuzzer program. usage: fuzz-<name> [CORPUS-DIRECTORY [MUTATIONS-PER-FILE]]
#include <dirent.h>

#include "tests/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
// Mutator of targets that know the form of their input.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
    __attribute__((weak));
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
// Mutations of each file for a slow target; other targets make MUTATIONS.
extern const unsigned fuzz_mutations __attribute__((weak));

enum { MUTATIONS = 1000, TRUNCATED_UP_TO = 2048, EDITS = 8, GROWTH = 8192 };

static uint64_t random_state;

// xorshift64*: the same numbers everywhere.
static uint64_t random_next(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1dull;
}

static size_t random_below(size_t limit)
{
    return (size_t)(random_next() % limit);
}

// A copy of exactly SIZE bytes, so that a sanitizer sees a read beyond them.
static void run_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        bail("no memory for %zu bytes", size);
    if (size)
        memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void edit(uint8_t *data, size_t *size)
{
    static const uint64_t telling[] = {0,
                                       1,
                                       0x7f,
                                       0x80,
                                       0xff,
                                       0xffff,
                                       0x7fffffff,
                                       0xffffffff,
                                       0x7fffffffffffffff,
                                       0xffffffffffffffff};
    size_t at = random_below(*size), width = (size_t)1 << random_below(4);
    switch (random_below(5)) {
    case 0: data[at] ^= (uint8_t)(1u << random_below(8)); break;
    case 1: data[at] = (uint8_t)random_next(); break;
    case 2:
        if (at + width <= *size)
            memcpy(data + at, &telling[random_below(sizeof telling / sizeof *telling)], width);
        break;
    case 3: *size = at + 1; break;
    case 4: {
        size_t from = random_below(*size), longest = *size - (from > at ? from : at);
        memmove(data + at, data + from, random_below(longest + 1));
        break;
    }
    }
}

// Replaces libFuzzer's function: mutates without knowledge of the form.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room)
{
    if (size)
        edit(data, &size);
    return size;
}

// Every other mutation knows the form of the input, where the target does.
static void run_mutations(const uint8_t *data, size_t size, unsigned count)
{
    uint8_t *copy = malloc(size + GROWTH);
    if (!copy)
        bail("no memory for %zu bytes", size);
    while (count--) {
        size_t edited = size;
        memcpy(copy, data, size);
        for (size_t edits = 1 + random_below(EDITS); edits > 0; edits--)
            if (LLVMFuzzerCustomMutator && count % 2)
                edited =
                    LLVMFuzzerCustomMutator(copy, edited, size + GROWTH, (unsigned)random_next());
            else
                edit(copy, &edited);
        run_copy(copy, edited);
    }
    free(copy);
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    uint8_t *data = NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (*size = (size_t)ftell(file)) > 0 &&
        fseek(file, 0, SEEK_SET) == 0 && (data = malloc(*size)) &&
        fread(data, 1, *size, file) != *size) {
        free(data);
        data = NULL;
    }
    fclose(file);
    return data;
}

static void run_file(const char *path, const char *name, unsigned mutations)
{
    size_t size = 0;
    uint8_t *data = read_file(path, &size);
    if (!data) {
        fail("%s can be read", name);
        return;
    }
    random_state = 0x9e3779b97f4a7c15ull;
    run_copy(data, size);
    for (size_t part = 0; size <= TRUNCATED_UP_TO && part < size; part++)
        run_copy(data, part);
    run_mutations(data, size, mutations);
    free(data);
    pass("%s, %u mutations", name, mutations);
}

// build/tests/fuzz-image -> tests/fuzz/corpus/image
static void corpus_of(const char *program, char *path, size_t room)
{
    const char *name = strrchr(program, '/');
    name = name ? name + 1 : program;
    if (!strncmp(name, "fuzz-", 5))
        name += 5;
    snprintf(path, room, "tests/fuzz/corpus/%s", name);
}

static int by_visible_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    char directory[512], path[1024];
    struct dirent **entries;
    unsigned mutations = &fuzz_mutations ? fuzz_mutations : MUTATIONS;
    if (argc > 2)
        mutations = (unsigned)strtoul(argv[2], NULL, 10);
    if (argc > 1)
        snprintf(directory, sizeof directory, "%s", argv[1]);
    else
        corpus_of(argv[0], directory, sizeof directory);
    int count = scandir(directory, &entries, by_visible_name, alphasort);
    if (count <= 0)
        bail("no corpus in %s", directory);
    run_copy((const uint8_t *)"", 0);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        run_file(path, entries[i]->d_name, mutations);
        free(entries[i]);
    }
    free(entries);
    return done();
}
