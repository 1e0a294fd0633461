// SPDX-License-Identifier: BSD-3-Clause
// Divergent lanes: each computes the same as it would alone, and they reconverge as soon as the
// program allows it.
#include "tests/ptx/engine.h"

static const char text[] = PTX_HEAD
    // Loops within branches within loops, as many rounds as the lane's number says.
    ".visible .entry nested(.param .u64 out) {\n"
    ".reg .b32 %r<20>; .reg .b64 %a<3>; .reg .pred %p<9>;\n"
    "ld.param.u64 %a1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
    "Outer: setp.ge.u32 %p1, %r3, %r1; @%p1 bra Done; and.b32 %r4, %r3, 3;\n"
    "setp.eq.u32 %p2, %r4, 1; @%p2 bra One; setp.eq.u32 %p3, %r4, 2; @%p3 bra Two;\n"
    "add.u32 %r2, %r2, 1; bra Next;\n"
    "One: mov.u32 %r5, 0;\n"
    "Inner: add.u32 %r2, %r2, %r5; add.u32 %r5, %r5, 1; setp.lt.u32 %p4, %r5, %r1;\n"
    "@%p4 bra Inner; bra Next;\n"
    "Two: xor.b32 %r2, %r2, %r1; setp.gt.u32 %p5, %r2, 500; @%p5 bra Done;\n"
    "Next: add.u32 %r3, %r3, 1; bra Outer;\n"
    "Done: activemask.b32 %r6; mul.wide.u32 %a2, %r1, 8; add.u64 %a1, %a1, %a2;\n"
    "st.global.v2.u32 [%a1], {%r2, %r6}; ret; }\n"

    // A function that each lane calls or not, leaves at its own time, or never returns from.
    ".func (.param .b32 r) work(.param .b32 n) { .reg .b32 %r<6>; .reg .pred %p<4>;\n"
    "ld.param.b32 %r1, [n]; setp.eq.u32 %p1, %r1, 13; @%p1 exit; mov.u32 %r2, 0;\n"
    "L: add.u32 %r2, %r2, %r1; sub.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 7; @%p2 bra Early;\n"
    "bra L; Early: st.param.b32 [r], %r2; setp.eq.u32 %p3, %r2, 30; @%p3 ret;\n"
    "add.u32 %r2, %r2, 1000; st.param.b32 [r], %r2; ret; }\n"
    ".visible .entry calls(.param .u64 out) {\n"
    ".reg .b32 %r<20>; .reg .b64 %a<3>; .reg .pred %p<9>;\n"
    "ld.param.u64 %a1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, 7; setp.ge.u32 %p1, %r1, 8;\n"
    "{ .param .b32 n; .param .b32 r; st.param.b32 [n], %r1; @%p1 call (r), work, (n);\n"
    "@%p1 ld.param.b32 %r2, [r]; }\n"
    "activemask.b32 %r6; mul.wide.u32 %a2, %r1, 8; add.u64 %a1, %a1, %a2;\n"
    "st.global.v2.u32 [%a1], {%r2, %r6}; ret; }\n"

    ".visible .entry table(.param .u64 out) {\n"
    ".reg .b32 %r<20>; .reg .b64 %a<3>; .reg .pred %p<9>;\n"
    "ld.param.u64 %a1, [out]; mov.u32 %r1, %tid.x; rem.u32 %r3, %r1, 5; mov.u32 %r2, 1;\n"
    "T: .branchtargets A, B, C, B, E; brx.idx %r3, T;\n"
    "A: add.u32 %r2, %r2, 10; B: add.u32 %r2, %r2, 100; bra E; C: mov.u32 %r2, 7;\n"
    "E: activemask.b32 %r6; mul.wide.u32 %a2, %r1, 8; add.u64 %a1, %a1, %a2;\n"
    "st.global.v2.u32 [%a1], {%r2, %r6}; ret; }\n";

static struct ptx_module *m;
static uint32_t (*out)[2];

static uint32_t nested(uint32_t n)
{
    uint32_t r = 0;

    for (uint32_t i = 0; i < n; i++) {
        if ((i & 3) == 1) {
            uint32_t k = 0;

            do
                r += k++;
            while (k < n);
        } else if ((i & 3) == 2) {
            r ^= n;
            if (r > 500)
                return r;
        } else {
            r++;
        }
    }
    return r;
}

static uint32_t calls(uint32_t n)
{
    uint32_t r = 0;

    if (n < 8)
        return 7;
    do
        r += n--;
    while (n >= 7);
    return r == 30 ? r : r + 1000;
}

static uint32_t table(uint32_t n)
{
    return n % 5 == 0 ? 111 : n % 5 == 2 ? 7 : n % 5 == 4 ? 1 : 101;
}

static void check(const char *name, uint32_t want(uint32_t), uint32_t mask)
{
    struct {
        void *out;
    } params = {out};
    int wrong = 0, apart = 0;

    memset(out, 0, 64 * 8);
    is_int(engine_launch(m, name, (struct launch_shape){1, 64, 0}, &params), 0, "%s runs", name);
    for (uint32_t i = 0; i < 64; i++) {
        if (!(mask >> i % 32 & 1) && i < 32)
            continue;
        wrong += out[i][0] != want(i);
        apart += i < 32 && out[i][1] != mask;
    }
    is_int(wrong, 0, "%s: every lane has its own result", name);
    is_int(apart, 0, "%s: all lanes run together at the end", name);
}

int main(void)
{
    m = engine_load(text);
    out = gpu_alloc(64 * 8);
    check("nested", nested, UINT32_MAX);
    check("calls", calls, ~(1u << 13));
    check("table", table, UINT32_MAX);
    ptx_module_free(&m);
    gpu_free_all();
    return done();
}
