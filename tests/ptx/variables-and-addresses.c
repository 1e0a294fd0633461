// SPDX-License-Identifier: BSD-3-Clause
// State spaces: variables with initial values, addresses of each other and of functions, generic
// addressing, parameters, vectors, and sources that are linked together.
#include "tests/ptx/engine.h"

static int run(struct ptx_module *m, const char *name, unsigned block, const void *params)
{
    int result = engine_launch(m, name, (struct launch_shape){1, block, 0}, params);

    if (result)
        diag("%s: %d %s", name, result, engine_fault.text);
    return result;
}

static const void *variable(struct ptx_module *m, const char *name, void **bound)
{
    for (size_t i = 0; i < ptx_module_global_count(m); i++) {
        if (strcmp(ptx_module_global(m, i)->name, name))
            continue;
        *bound = gpu_alloc(ptx_module_global(m, i)->size);
        if (ptx_module_bind(m, i, (uintptr_t)*bound))
            bail("bind");
        return ptx_module_global(m, i);
    }
    bail("no variable %s", name);
}

static void test_initial_values(void)
{
    static const char text[] = PTX_HEAD ".visible .global .align 4 .b8 bytes[8] = {1, 2, 3};\n"
                                        ".visible .global .s16 words[4] = {-1, 0x7fff, 'U' + 0};\n"
                                        ".visible .global .b32 more = 1;\n";
    static const char good[] = PTX_HEAD
        ".visible .global .align 4 .b8 bytes[8] = {1, 2, 3};\n"
        ".visible .global .s16 words[] = {-1, 0x7fff, (1 << 4) | 3, 5 > 3 ? 7 : 8};\n"
        ".visible .const .f32 floats[2][3] = {{1.5, 0f40000000}, {-1, 3}};\n"
        ".visible .global .f64 real = 2.5;\n"
        ".func f() { ret; }\n"
        ".visible .global .u64 pointers[3] = {bytes, generic(words) + 4, f};\n"
        ".visible .global .b8 split[8] = {0xFF(bytes), 0xFF00(bytes), 0xFF0000(bytes),\n"
        "0xFF000000(bytes), 0xFF00000000(bytes), 0xFF0000000000(bytes),\n"
        "0xFF000000000000(bytes), 0xFF00000000000000(bytes)};\n"
        ".visible .const .align 16 .v4 .u32 quad = {1, 2, 3, 4};\n"
        ".global .u32 hidden = 9;\n"
        ".visible .entry k() { ret; }\n";
    struct ptx_module *m;
    const struct ptx_global *g;
    void *bytes, *words, *floats, *real, *pointers, *split, *quad, *hidden;

    is_int(engine_compile(text, &m), -EINVAL, "characters are no numbers");
    if (engine_compile(good, &m))
        bail("%s", engine_log);
    is_int(ptx_module_initialize(m), -EINVAL, "variables have to be placed first");
    g = variable(m, "bytes", &bytes);
    ok(g->size == 8 && g->align == 4 && g->visible && g->space == PTX_SPACE_GLOBAL,
       "a variable is described");
    variable(m, "words", &words);
    g = variable(m, "floats", &floats);
    ok(g->size == 24 && g->space == PTX_SPACE_CONST, "so is a constant");
    variable(m, "real", &real);
    variable(m, "pointers", &pointers);
    variable(m, "split", &split);
    g = variable(m, "quad", &quad);
    is_int(g->align, 16, "alignment is as declared");
    g = variable(m, "hidden", &hidden);
    ok(!g->visible, "a variable without .visible is private");
    is_int(ptx_module_initialize(m), 0, "all are placed");
    is_mem(bytes, "\1\2\3\0\0\0\0\0", 8, "bytes are filled up with zeroes");
    is_mem(words, "\xff\xff\xff\x7f\x13\0\7\0", 8, "expressions are evaluated");
    is_mem(floats, ((float[]){1.5f, 2, 0, -1, 3, 0}), 24, "rows are filled one by one");
    ok(*(double *)real == 2.5, "a double");
    is_int(((uint64_t *)pointers)[0], (uintptr_t)bytes, "an address of another variable");
    is_int(((uint64_t *)pointers)[1], (uintptr_t)words + 4, "with an offset");
    ok(((uint64_t *)pointers)[2], "an address of a function");
    is_mem(split, &bytes, 8, "an address byte by byte");
    ptx_module_free(&m);
    gpu_free_all();
}

static void test_spaces(void)
{
    struct ptx_module *m = engine_load(
        PTX_HEAD
        ".const .u32 squares[4] = {0, 1, 4, 9};\n"
        ".extern .shared .align 16 .b8 dynamic[];\n"
        ".visible .entry k(.param .u64 out) {\n"
        ".reg .b64 %a<20>; .reg .b32 %r<20>; .reg .pred %p<9>; .local .align 8 .b8 mine[32];\n"
        ".shared .align 4 .b32 all[64];\n"
        "ld.param.u64 %a1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %a2, %r1, 32;\n"
        "add.u64 %a1, %a1, %a2; mov.u64 %a3, mine; cvta.local.u64 %a4, %a3;\n"
        "st.local.u32 [%a3+4], %r1; ld.u32 %r2, [%a4+4]; st.u32 [%a4+8], 5;\n"
        "ld.local.u32 %r3, [mine+8]; add.u32 %r2, %r2, %r3; st.global.u32 [%a1], %r2;\n"
        "mov.u32 %r4, all; shl.b32 %r5, %r1, 2; add.u32 %r4, %r4, %r5; st.shared.u32 [%r4], %r1;\n"
        "cvt.u64.u32 %a5, %r4; cvta.shared.u64 %a6, %a5; ld.u32 %r6, [%a6];\n"
        "st.global.u32 [%a1+4], %r6; cvta.to.shared.u64 %a7, %a6; ld.shared.u32 %r7, [%a7];\n"
        "st.global.u32 [%a1+8], %r7; and.b32 %r8, %r1, 3; mul.wide.u32 %a8, %r8, 4;\n"
        "mov.u64 %a9, squares; add.u64 %a9, %a9, %a8; ld.const.u32 %r9, [%a9];\n"
        "st.global.u32 [%a1+12], %r9; ld.u32 %r9, [%a9]; st.global.u32 [%a1+16], %r9;\n"
        "isspacep.shared %p1, %a6; isspacep.local %p2, %a4; isspacep.global %p3, %a1;\n"
        "isspacep.shared %p4, %a1; selp.u32 %r10, 1, 0, %p1; @%p2 add.u32 %r10, %r10, 2;\n"
        "@%p3 add.u32 %r10, %r10, 4; @%p4 add.u32 %r10, %r10, 8; st.global.u32 [%a1+20], %r10;\n"
        "mov.u32 %r11, dynamic; add.u32 %r12, %r11, %r5; st.shared.u32 [%r12], %r1;\n"
        "bar.sync 0; ld.shared.u32 %r13, [dynamic+4]; st.global.u32 [%a1+24], %r13;\n"
        "mov.u32 %r14, %dynamic_smem_size; st.global.u32 [%a1+28], %r14; ret; }\n");
    uint32_t(*out)[8] = gpu_alloc(64 * 32);
    struct {
        void *out;
    } params = {out};
    int wrong = 0;

    is_int(engine_launch(m, "k", (struct launch_shape){1, 64, 256}, &params), 0,
           "all spaces at once");
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t want[8] = {i + 5, i, i, (i & 3) * (i & 3), (i & 3) * (i & 3), 7, 1, 256};

        wrong += memcmp(out[i], want, sizeof(want)) != 0;
    }
    is_int(wrong, 0, "through their own and generic addresses");
    is_int(ptx_function_info(ptx_module_find(m, "k"))->static_shared, 256,
           "static shared memory is counted");
    is_int(ptx_function_info(ptx_module_find(m, "k"))->local_bytes, 32, "so is local memory");
    ptx_module_free(&m);
    gpu_free_all();
}

static void test_vectors(void)
{
    struct ptx_module *m = engine_load(
        PTX_HEAD
        ".visible .entry k(.param .u64 out, .param .align 16 .b8 s[48]) {\n"
        ".reg .b64 %a<9>; .reg .b32 %r<20>; .reg .b16 %h<9>; .reg .f64 %d<4>; .reg .v2 .b32 %v;\n"
        "ld.param.u64 %a1, [out]; ld.param.v4.u32 {%r1, %r2, %r3, %r4}, [s];\n"
        "ld.param.v2.f64 {%d1, %d2}, [s+16]; ld.param.v4.u8 {%h1, %h2, %h3, %h4}, [s+32];\n"
        "ld.param.s8 %r5, [s+36]; ld.param.u16 %h5, [s+38]; ld.param.s32 %a2, [s+40];\n"
        "st.global.v4.u32 [%a1], {%r4, %r3, %r2, %r1}; st.global.v2.f64 [%a1+16], {%d2, %d1};\n"
        "st.global.v4.u8 [%a1+32], {%h4, %h3, %h2, %h1}; st.global.u8 [%a1+36], %r5;\n"
        "st.global.u16 [%a1+38], %h5; st.global.u64 [%a1+40], %a2; mov.b64 {%v.x, %v.y}, %a2;\n"
        "st.global.v2.u32 [%a1+48], %v; ld.global.v2.u32 {_, %r6}, [%a1]; st.global.u32 [%a1+56], %r6;\n"
        "ret; }\n");
    unsigned char *out = gpu_alloc(64);
    struct {
        void *out;
        struct {
            uint32_t words[4];
            double reals[2];
            uint8_t bytes[4];
            int8_t small;
            uint16_t half;
            int32_t negative, tail;
        } s __attribute__((aligned(16)));
    } params = {out, {{1, 2, 3, 4}, {1.5, 2.5}, {1, 2, 3, 4}, -7, 999, -5, 0}};
    int64_t wide;
    double d;

    is_int(run(m, "k", 1, &params), 0, "vectors of every width");
    is_mem(out, ((uint32_t[]){4, 3, 2, 1}), 16, "four words");
    memcpy(&d, out + 16, 8);
    ok(d == 2.5, "two doubles");
    is_mem(out + 32, "\4\3\2\1", 4, "four bytes");
    is_int((int8_t)out[36], -7, "a signed byte in a word");
    memcpy(&wide, out + 40, 8);
    is_int(wide, -5, "a load extends to a wider register");
    is_mem(out + 48, &wide, 8, "a vector register");
    is_mem(out + 56, "\3\0\0\0", 4, "elements may be left out");
    ptx_module_free(&m);
    gpu_free_all();
}

static void test_link(void)
{
    static const char first[] = PTX_HEAD
        ".extern .global .u32 shared_value;\n"
        ".extern .func (.param .b32 r) other(.param .b32 x);\n"
        ".weak .global .u32 weak_value = 1;\n.global .u32 mine = 10;\n"
        ".func (.param .b32 r) local_name(.param .b32 x) { .reg .b32 %r<3>;\n"
        "ld.param.b32 %r1, [x]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }\n"
        ".visible .entry k(.param .u64 out) { .reg .b64 %a; .reg .b32 %r<9>;\n"
        "ld.param.u64 %a, [out]; ld.global.u32 %r1, [shared_value]; ld.global.u32 %r2, [weak_value];\n"
        "ld.global.u32 %r3, [mine]; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;\n"
        "{ .param .b32 x; .param .b32 r; st.param.b32 [x], %r1; call (r), other, (x);\n"
        "ld.param.b32 %r4, [r]; st.param.b32 [x], %r4; call (r), local_name, (x);\n"
        "ld.param.b32 %r4, [r]; } st.global.u32 [%a], %r4; ret; }\n";
    static const char second[] = PTX_HEAD
        ".visible .global .u32 shared_value = 100;\n.weak .global .u32 weak_value = 2;\n"
        ".global .u32 mine = 20;\n"
        ".func (.param .b32 r) local_name(.param .b32 x) { .reg .b32 %r<3>;\n"
        "ld.param.b32 %r1, [x]; mul.lo.u32 %r1, %r1, 2; st.param.b32 [r], %r1; ret; }\n"
        ".visible .func (.param .b32 r) other(.param .b32 x) { .reg .b32 %r<4>;\n"
        "ld.param.b32 %r1, [x]; ld.global.u32 %r2, [mine]; add.u32 %r1, %r1, %r2;\n"
        "{ .param .b32 y; .param .b32 z; st.param.b32 [y], %r1; call (z), local_name, (y);\n"
        "ld.param.b32 %r1, [z]; } st.param.b32 [r], %r1; ret; }\n";
    struct ptx_source sources[] = {{first, sizeof(first), "first"},
                                   {second, sizeof(second), "second"}};
    struct ptx_log error = {engine_log, sizeof(engine_log), 0};
    struct ptx_module *m = NULL;
    uint32_t *out;

    is_int(ptx_module_link(sources, 1, NULL, &error, &m), -EINVAL, "half of a program is refused");
    is_int(ptx_module_link(sources, 2, NULL, &error, &m), 0, "two sources are linked");
    engine_place(m);
    out = gpu_alloc(4);
    struct {
        void *out;
    } params = {out};
    is_int(run(m, "k", 1, &params), 0, "the linked program runs");
    is_int(*out, (100 + 1 + 10 + 20) * 2 + 1, "private names stay private, weak ones are merged");
    ptx_module_free(&m);
    error.used = 0;
    sources[0] = sources[1];
    is_int(ptx_module_link(sources, 2, NULL, &error, &m), -EINVAL,
           "a name defined twice is refused");
    ok(strstr(engine_log, "second") && strstr(engine_log, "defined twice"), "by its source");
    gpu_free_all();
}

int main(void)
{
    test_initial_values();
    test_spaces();
    test_vectors();
    test_link();
    return done();
}
