// SPDX-License-Identifier: BSD-3-Clause
// Single instructions over many operand values, compared with what C computes. A case is the text
// of one or more instructions that takes its operands from registers named after their type and
// number and leaves its result in register 0 of the result's type:
//     %w1 %w2 %w3  32 bits     %l1 %l2 %l3  64 bits     %h1 %h2 %h3  16 bits
//     %f1 ...      f32         %d1 ...      f64         %p0          predicate, stored as 0 or 1
// All of %x1 hold the same bits, as far as they are wide.
#ifndef RGPU_TESTS_PTX_CASES_H
#define RGPU_TESTS_PTX_CASES_H

#include "tests/ptx/engine.h"
#include "tests/ptx/gpu.h"

typedef uint64_t expected(uint64_t a, uint64_t b, uint64_t c);

enum result { WORD, LONG, HALF, F32, F64, PRED };

#define CASE_COUNT 2048
static uint64_t case_in[CASE_COUNT][3];

static const uint64_t integer_values[] = {
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    15,
    16,
    24,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    32767,
    32768,
    65535,
    65536,
    0x7fffffff,
    0x80000000,
    0x80000001,
    0xffffffff,
    0x12345678,
    0xdeadbeef,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xffffffffffffffff,
    0xfedcba9876543210,
    0xaaaaaaaa55555555,
    0xffffffff80000000,
    0x0123456789abcdef,
    0xffffffffffff8000,
};

static const uint32_t float_values[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x40000000, 0x3f000000, 0x3fc00000,
    0x40490fdb, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f7fffff, 0xff7fffff,
    0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x4b000001, 0x4f000000,
    0xcf000000, 0x4effffff, 0x5f000000, 0x3eaaaaab, 0x42f6e979, 0x3f7fffff, 0x3f800001,
    0x20000000, 0x1f800000, 0x477fe000, 0x38800000, 0x33800000, 0x40200000, 0x40600000,
};

static const uint64_t double_values[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x4000000000000000, 0x3fe0000000000000, 0x7ff0000000000000, 0xfff0000000000000,
    0x7ff8000000000000, 0x7fefffffffffffff, 0x0000000000000001, 0x8000000000000001,
    0x000fffffffffffff, 0x0010000000000000, 0x400921fb54442d18, 0x3fd5555555555555,
    0x41dfffffffc00000, 0xc1e0000000000000, 0x43e0000000000000, 0x43f0000000000000,
    0x47efffffe0000000, 0x36a0000000000000, 0x3ff8000000000000, 0x4004000000000000,
    0x40effe0000000000, 0x3f10000000000000,
};

static inline uint64_t case_random(void)
{
    static uint64_t state = 88172645463325252ull;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static inline uint64_t as_bits(double x)
{
    uint64_t u;

    memcpy(&u, &x, 8);
    return u;
}

static inline double as_double(uint64_t u)
{
    double x;

    memcpy(&x, &u, 8);
    return x;
}

static inline uint64_t f_bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, 4);
    return u;
}

static inline float as_float(uint64_t u)
{
    uint32_t w = (uint32_t)u;
    float x;

    memcpy(&x, &w, 4);
    return x;
}

// Fills the operands: edge values against each other, then random ones.
static inline void use_integers(void)
{
    size_t n = sizeof(integer_values) / sizeof(integer_values[0]);

    for (size_t i = 0; i < CASE_COUNT; i++)
        for (size_t k = 0; k < 3; k++)
            case_in[i][k] = i < n * n ? integer_values[k == 0   ? i % n
                                                       : k == 1 ? i / n
                                                                : (i * 7) % n]
                                      : case_random() >> (case_random() % 64);
}

static inline void use_floats(void)
{
    size_t n = sizeof(float_values) / sizeof(float_values[0]);

    for (size_t i = 0; i < CASE_COUNT; i++)
        for (size_t k = 0; k < 3; k++)
            case_in[i][k] = i < n * n ? float_values[k == 0   ? i % n
                                                     : k == 1 ? i / n
                                                              : (i * 11) % n]
                                      : f_bits((float)(case_random() % 100000) / 64 - 500);
}

static inline void use_doubles(void)
{
    size_t n = sizeof(double_values) / sizeof(double_values[0]);

    for (size_t i = 0; i < CASE_COUNT; i++)
        for (size_t k = 0; k < 3; k++)
            case_in[i][k] = i < n * n ? double_values[k == 0   ? i % n
                                                      : k == 1 ? i / n
                                                               : (i * 11) % n]
                                      : as_bits((double)(case_random() % 10000000) / 1024 - 500);
}

static inline bool same_bits(enum result kind, uint64_t got, uint64_t want)
{
    if (kind == F64 && as_double(got) != as_double(got))
        return as_double(want) != as_double(want);
    return got == want;
}

static inline const char *case_program(const char *text, enum result kind)
{
    static const char *const stores[] = {
        [WORD] = "st.global.u32 [%rd_out], %w0;",
        [LONG] = "st.global.u64 [%rd_out], %l0;",
        [HALF] = "st.global.u16 [%rd_out], %h0;",
        [F32] = "st.global.f32 [%rd_out], %f0;",
        [F64] = "st.global.f64 [%rd_out], %d0;",
        [PRED] = "selp.u32 %w0, 1, 0, %p0; st.global.u32 [%rd_out], %w0;",
    };
    static char program[8192];

    snprintf(program, sizeof(program),
             PTX_HEAD
             ".visible .entry k(.param .u64 p_out, .param .u64 p_in) {\n"
             ".reg .b64 %%rd_out, %%rd_in, %%rd_off; .reg .b32 %%w<32>; .reg .b64 %%l<32>;\n"
             ".reg .b16 %%h<32>; .reg .f32 %%f<32>; .reg .f64 %%d<32>; .reg .pred %%p<8>;\n"
             "ld.param.u64 %%rd_out, [p_out]; ld.param.u64 %%rd_in, [p_in];\n"
             "mov.u32 %%w0, %%ctaid.x; mov.u32 %%w1, %%ntid.x; mov.u32 %%w2, %%tid.x;\n"
             "mad.lo.u32 %%w0, %%w0, %%w1, %%w2; mul.wide.u32 %%rd_off, %%w0, 8;\n"
             "add.u64 %%rd_out, %%rd_out, %%rd_off; mul.wide.u32 %%rd_off, %%w0, 24;\n"
             "add.u64 %%rd_in, %%rd_in, %%rd_off;\n"
             "ld.global.u64 %%l1, [%%rd_in]; ld.global.u64 %%l2, [%%rd_in+8];\n"
             "ld.global.u64 %%l3, [%%rd_in+16]; cvt.u32.u64 %%w1, %%l1; cvt.u32.u64 %%w2, %%l2;\n"
             "cvt.u32.u64 %%w3, %%l3; cvt.u16.u64 %%h1, %%l1; cvt.u16.u64 %%h2, %%l2;\n"
             "cvt.u16.u64 %%h3, %%l3; mov.b32 %%f1, %%w1; mov.b32 %%f2, %%w2; mov.b32 %%f3, %%w3;\n"
             "mov.b64 %%d1, %%l1; mov.b64 %%d2, %%l2; mov.b64 %%d3, %%l3;\n"
             "%s\n%s\nret;\n}\n",
             text, stores[kind]);
    return program;
}

static inline int run_case(const char *text, enum result kind, uint64_t *out, uint64_t (*in)[3])
{
    const char *program = case_program(text, kind);
    struct {
        void *out, *in;
    } params = {out, in};
    struct ptx_module *m;
    int result;

    memcpy(in, case_in, sizeof(case_in));
    if (on_gpu()) {
        gpu_run(program, CASE_COUNT / 64, 64, out, CASE_COUNT * 8, in, sizeof(case_in));
        return 0;
    }
    m = engine_load(program);
    result = engine_launch(m, "k", (struct launch_shape){CASE_COUNT / 64, 64, 0}, &params);
    ptx_module_free(&m);
    return result;
}

static inline void check_case(const char *text, enum result kind, expected *want)
{
    uint64_t *out, (*in)[3];
    int wrong = 0, result;

    if (on_gpu() && (strstr(text, ".approx") || strstr(text, ".full"))) {
        skip(1, "%s: a GPU's approximation differs", text);
        return;
    }
    out = gpu_alloc(CASE_COUNT * 8);
    in = gpu_alloc(sizeof(case_in));
    result = run_case(text, kind, out, in);
    for (int i = 0; !result && i < CASE_COUNT; i++) {
        uint64_t w = want(in[i][0], in[i][1], in[i][2]);

        if (kind == WORD || kind == F32 || kind == PRED)
            w = (uint32_t)w;
        if (kind == HALF)
            w = (uint16_t)w;
        if (!same_bits(kind, out[i], w) && wrong++ < 3)
            diag("%s: a=0x%llx b=0x%llx c=0x%llx: got 0x%llx, want 0x%llx", text,
                 (unsigned long long)in[i][0], (unsigned long long)in[i][1],
                 (unsigned long long)in[i][2], (unsigned long long)out[i], (unsigned long long)w);
    }
    ok(!result && !wrong, "%s", text);
    gpu_free_all();
}

// A row of a table of cases. In `value`, a b c are the operands as uint64_t.
struct instruction_case {
    const char *text;
    enum result kind;
    expected *want;
};

#define VALUE(name, value) \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c) \
    { \
        (void)a; \
        (void)b; \
        (void)c; \
        return (uint64_t)(value); \
    }

static inline void check_cases(const struct instruction_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_case(cases[i].text, cases[i].kind, cases[i].want);
}

#endif
