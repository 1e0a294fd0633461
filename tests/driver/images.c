// SPDX-License-Identifier: BSD-3-Clause
// Images of every form are recognised and measured, fat binaries are read whichever way they are
// compressed, the best PTX is chosen, and damage is refused. The images are those of the fuzz
// corpus, which nvcc 13.0 wrote from one small kernel.
#include "common/driver/image.h"

#include <errno.h>

#include "common/driver/fatbin_format.h"
#include "common/driver/image_memory.h"
#include "tests/tap.h"

static const char corpus[] = "tests/fuzz/corpus/image";

static char *read_file(const char *name, size_t *size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", corpus, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        bail("cannot open %s", path);
    char *data = calloc(1, 1 << 16);
    *size = data ? fread(data, 1, 1 << 16, file) : 0;
    fclose(file);
    return data;
}

static void check_fatbin(const char *name)
{
    size_t size, text_size = 0;
    char *data = read_file(name, &size), *text = NULL;
    struct image image = {0};
    ok(image_parse(data, size, &image) == 0 && image.kind == IMAGE_FATBIN && image.size == size,
       "%s is a fatbin of %zu bytes", name, size);
    ok(image_locate(data, &image) == 0 && image.size == size, "it is measured without a bound");

    struct fatbin_wrapper wrapper = {FATBIN_WRAPPER_MAGIC, 1, data, NULL};
    ok(image_locate(&wrapper, &image) == 0 && image.data == data && image.size == size,
       "and found behind a wrapper");

    is_int(image_extract_ptx(&image, 90, &text, &text_size), 0, "it has PTX for 9.0");
    ok(text && strlen(text) == text_size && strstr(text, ".target sm_90") && strstr(text, "scale"),
       "which is the one for 9.0");
    free(text);
    text = NULL;
    ok(image_extract_ptx(&image, 89, &text, &text_size) == 0 && strstr(text, ".target sm_75"),
       "for 8.9 the one for 7.5 is the best");
    free(text);
    text = NULL;
    ok(image_extract_ptx(&image, 120, &text, &text_size) == 0 && strstr(text, ".target sm_100"),
       "for 12.0 the one for 10.0");
    free(text);
    ok(image_may_name(data, size, 0, "scale", 1 << 20), "the name of its kernel is found in it");
    ok(!image_may_name(data, size, 0, "vprintf", 1 << 20), "and not one that is not there");
    ok(image_may_name(data, size, 0, "vprintf", 100), "unless there is too much to read");
    ok(image_may_name(data, size - 1, 0, "vprintf", 1 << 20), "or it is damaged");
    ok(image_may_name(data, size, 90, ".target sm_90", 1 << 20) &&
           !image_may_name(data, size, 90, ".target sm_100", 1 << 20),
       "what a device cannot load is not looked at");
    is_int(image_extract_ptx(&image, 70, &text, &text_size), -ENOENT, "there is none for 7.0");
    is_int(image_parse(data, size - 1, &image), -EBADMSG, "a byte less is refused");
    is_int(image_parse(data, 10, &image), -EBADMSG, "half a header is refused");
    free(data);
}

static void check_elf(void)
{
    size_t size;
    char *data = read_file("sm_90.cubin", &size), *text = NULL;
    struct image image = {0};
    ok(image_parse(data, size, &image) == 0 && image.kind == IMAGE_ELF && image.size == size,
       "a cubin is an ELF, of %zu bytes by its headers", size);
    ok(image_locate(data, &image) == 0 && image.size == size, "without a bound too");
    ok(image_may_name(data, size, 0, "scale", 0) && !image_may_name(data, size, 0, "vprintf", 0),
       "it names its kernel, and what it does not call it does not");
    is_int(image_extract_ptx(&image, 90, &text, &size), -ENOENT, "it has no PTX");
    is_int(image_parse(data, image.size - 1, &image), -EBADMSG, "a byte less is refused");
    is_int(image_parse(data, 20, &image), -EBADMSG, "half a header is refused");
    free(data);
}

static void check_text(void)
{
    size_t size, text_size = 0;
    char *data = read_file("plain.ptx", &size), *text = NULL;
    struct image image = {0};
    ok(image_parse(data, size, &image) == 0 && image.kind == IMAGE_PTX && image.size == size,
       "a text behind comments is PTX");
    ok(image_parse(data, size + 1, &image) == 0 && image.size == size, "it ends at its NUL");
    ok(image_locate(data, &image) == 0 && image.size == size, "without a bound too");
    ok(image_extract_ptx(&image, 90, &text, &text_size) == 0 && text_size == size &&
           !strcmp(text, data),
       "its PTX is itself");
    free(text);
    free(data);
}

static void check_strange(void)
{
    struct image image;
    is_int(image_locate(NULL, &image), -EINVAL, "NULL is no image");
    is_int(image_locate("", &image), -EBADMSG, "nor is the empty string");
    is_int(image_locate("int main(void)", &image), -EBADMSG, "nor another text");
    is_int(image_locate("/* open", &image), -EBADMSG, "nor a comment without end");
    is_int(image_parse("", 0, &image), -EBADMSG, "nor no bytes at all");
    is_int(image_parse(".versio", 7, &image), -EBADMSG, "nor a directive cut short");
    is_int(image_parse("\x7f"
                       "EL",
                       3, &image),
           -EBADMSG, "nor a magic number cut short");
    is_int(image_parse(" .version", 9, &image), 0, "the shortest PTX");
}

// One entry after a header, as large as it says.
struct small_fatbin {
    struct fatbin_header header;
    struct fatbin_entry_header entry;
    char payload[16];
};

static int read_first(const struct small_fatbin *fatbin)
{
    struct fatbin_iterator iterator;
    struct fatbin_entry entry;
    char *bytes = NULL;
    size_t size;
    int result = fatbin_open(fatbin, sizeof *fatbin, &iterator);
    if (result == 0)
        result = fatbin_next(&iterator, &entry);
    if (result > 0)
        result = fatbin_read(&entry, &bytes, &size);
    free(bytes);
    return result;
}

static void check_damage(void)
{
    const struct small_fatbin sound = {
        .header = {FATBIN_MAGIC, 1, 16, sizeof(struct fatbin_entry_header) + 16},
        .entry = {.kind = FATBIN_KIND_PTX, .header_size = 64, .padded_size = 16, .arch = 75},
        .payload = ".version 8.0",
    };
    struct small_fatbin damaged = sound;
    is_int(read_first(&sound), 0, "an entry that is not compressed is read");
    damaged.entry.padded_size = 17;
    is_int(read_first(&damaged), -EBADMSG, "a payload beyond the end is refused");
    damaged.entry.padded_size = UINT64_MAX - 8;
    is_int(read_first(&damaged), -EBADMSG, "and one beyond everything");
    damaged = sound;
    damaged.entry.header_size = 8;
    is_int(read_first(&damaged), -EBADMSG, "an entry header that is too small is refused");
    damaged = sound;
    damaged.entry.flags = FATBIN_FLAG_ZSTD;
    damaged.entry.compressed_size = 12;
    damaged.entry.uncompressed_size = 100;
    is_int(read_first(&damaged), -EBADMSG, "text that claims to be Zstandard is refused");
    damaged.entry.flags = FATBIN_FLAG_LZ4;
    is_int(read_first(&damaged), -EBADMSG, "or LZ4");
    damaged.entry.compressed_size = 17;
    is_int(read_first(&damaged), -EBADMSG, "or has more compressed bytes than payload");
    damaged.entry.compressed_size = 12;
    damaged.entry.uncompressed_size = (uint64_t)1 << 40;
    is_int(read_first(&damaged), -EFBIG, "an entry of a terabyte is refused before it is unpacked");
    damaged = sound;
    damaged.header.size = UINT64_MAX;
    is_int(read_first(&damaged), -EBADMSG, "a fatbin larger than everything is refused");
}

// ---- memory ----

static void check_code(void)
{
    struct image_memory memory;
    size_t size;
    char *cubin = read_file("sm_90.cubin", &size);
    ok(!image_memory_find(cubin, size, 90, &memory) && memory.kernel && memory.code < size &&
           memory.code == memory.common + memory.kernel,
       "of a cubin with one kernel its code and what is common take memory");
    is_int((int64_t)image_memory_of_kernels(&memory, 0), (int64_t)memory.common,
           "before it is used, what is common");
    is_int((int64_t)image_memory_of_kernels(&memory, UINT64_MAX), (int64_t)memory.code,
           "and never more than all");
    free(cubin);
    char *fatbin = read_file("none.fatbin", &size);
    ok(!image_memory_find(fatbin, size, 90, &memory) && memory.kernel && memory.code < 4096,
       "of a fat binary the binary for the device counts, and not the text beside it");
    ok(!image_memory_find(fatbin, size, 103, &memory) && !memory.kernel && memory.code > 4096,
       "where there is only a text, it counts with what it may become");
    free(fatbin);
}

static uint64_t variables_of(const void *data, size_t size)
{
    struct image_memory memory;
    int result = image_memory_find(data, size, 90, &memory);
    return result < 0 ? (uint64_t)-result << 48 : memory.variables;
}

#define UNREADABLE ((uint64_t)EINVAL << 48)

static void check_variables(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } texts[] = {
        {".global .align 4 .b8 big[4000];", 4000},
        {".visible .global .align 16 .v4 .f32 many[10][3];", 480},
        {".global .attribute(.managed) .align 4 .u32 m; .global .f64 d;", 12},
        {".global .u16 a = 3, b[5] = {1, 2}, c;", 14},
        {".global .s32 unsized[] = {1, 2, {3, 4}, 5};", 20},
        {".global .b64 names[0x10];", 128},
        {".extern .global .align 4 .b8 elsewhere[999999];\n.weak .global .f16x2 here;", 4},
        {"// .global .b8 comment[7];\n/* .global .b8 other[7]; */ .global .b8 x[1];", 1},
        {".const .align 4 .b8 c[40]; .shared .b8 s[100]; .file 1 \".global .b8 s[5];\"", 0},
        {".entry f(.param .u64 .ptr .global .align 4 p) { ld.global.u32 %r1, [p]; }", 0},
        {".visible.global.align 4.b8 dense[100];", 100},
        {".weak.global.v2.f32 a;.extern.global .b8 b[9];.global.u16 c[0x10];", 40},
        {".address_size 64.global .b8 x[7];", 7},
        {".target texmode_unified.global .b8 x[7];", 7},
        {".file 1 \"a\".global .b8 x[7];", 7},
        {"// comment\r.global .b8 x[7];", 7},
        {".pragma \"a\\\"\"; .global .b8 x[7]; .pragma \"b\";", UNREADABLE},
        {".func f() { .loc 1 2 3.global .b8 x[7]; atom.global.add.u32 %r1, [p], 1; }", 7},
        {".global .f32 x[2] = {1.5e3, 2.e1};", 8},
        {".global .b8 huge[0xffffffffffffffff][16];", UINT64_MAX},
        {".global .b8 x[1024*1024*1024];", 1 << 30},
        {".global .b8 x[1024 * 1024];", 1 << 20},
        {".global .b8 x[ (1 << 20) + 2*3 - 6/3 ];", (1 << 20) + 4},
        {".global .b8 x[1<<2<<3][0b101U|0x10];", 32 * 21},
        {".global .b8 x[WARP_SZ*010];", 256},
        {".global .b8 x[3 > 2 && !(1 == 2) ? 7 : 9][7%4];", 21},
        {".global .b8 x[(.u64)(~0xfffffffffffffff0)^1];", 14},
        {".global .b8 x[- -5], y[-(-6)];", 11},
        {".global .b8 x[-(2-10)>>1];", 4},
        {".global .b32 x<5>;", 20},
        {".global .u16 x[][3] = {{1,2,3},{4,5,6}};", 36},
        {".global .b8 x[-1];", UNREADABLE},
        {".global .b8 x[1/0];", UNREADABLE},
        {".global .b8 x[SIZE];", UNREADABLE},
        {".global .b8 x[1024*];", UNREADABLE},
        {".global .b8 x[1024 1024];", UNREADABLE},
        {".global .b8 x[0x7fffffffffffffff*4];", UNREADABLE},
        {".global .b8 x[1e9];", UNREADABLE},
        {".global .b8 x[99999999999999999999999];", UNREADABLE},
        {".global .b8 x[((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))];",
         1},
        {".global .strange x[5];", UNREADABLE},
        {".global", UNREADABLE},
        {".global .b8 cut[", UNREADABLE},
        {".global .b8 cut[3", UNREADABLE},
        {".global .u32 v = {{{", 4},
        {"/*", 0},
    };
    char text[512];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(text, sizeof text, ".version 8.0\n.target sm_90\n%s", texts[i].text);
        is_int((int64_t)variables_of(text, strlen(text)), (int64_t)texts[i].bytes,
               "variables of \"%.*s\"", (int)strcspn(texts[i].text, "\n"), texts[i].text);
    }
    is_int((int64_t)variables_of("no image", 8), (int64_t)EBADMSG << 48, "no image has none");
}

static void check_fatbin_of_variables(const char *text)
{
    struct {
        struct fatbin_header header;
        struct {
            struct fatbin_entry_header header;
            char payload[512];
        } entries[2];
    } packed = {
        .header = {FATBIN_MAGIC, 1, sizeof packed.header, sizeof packed - sizeof packed.header}};
    for (int i = 0; i < 2; i++) {
        packed.entries[i].header = (struct fatbin_entry_header){.kind = FATBIN_KIND_PTX,
                                                                .version = 0x101,
                                                                .header_size = 64,
                                                                .padded_size = 512,
                                                                .arch = i ? 120 : 80,
                                                                .major = 8};
        snprintf(packed.entries[i].payload, 512, ".version 8.0\n%s[%d];", text, i ? 5000 : 50);
    }
    is_int((int64_t)variables_of(&packed, sizeof packed), 50,
           "of a fat binary only what the device can load counts");
    packed.entries[1].header.arch = 90;
    is_int((int64_t)variables_of(&packed, sizeof packed), 5000, "and of that the most");
    packed.entries[1].payload[0] = 'x';
    is_int((int64_t)variables_of(&packed, sizeof packed), (int64_t)EBADMSG << 48,
           "a damaged entry is told");
}

int main(void)
{
    static const char *const fatbins[] = {"none.fatbin", "speed.fatbin", "balance.fatbin",
                                          "size.fatbin"};
    for (size_t i = 0; i < sizeof fatbins / sizeof *fatbins; i++)
        check_fatbin(fatbins[i]);
    check_elf();
    check_text();
    check_strange();
    check_damage();
    check_code();
    check_variables();
    check_fatbin_of_variables(".global .b8 x");
    return done();
}
